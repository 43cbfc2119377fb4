// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/quantizekernels.h"
#include "kernels/cpu/weightrun.h"
#include "kernels/formats/superblocks.h"

// Blocks of 256 with two levels of scales: first the best scale of each run on its own, then the shared unit
// and, for each run, the multiple of it near the wanted one with the least error; then the unit that is best
// for those multiples, and the multiples once more.

namespace tokenloupe::kernel {

/// w = d · scale · q - dmin · minimum for pieces of 32; scale and minimum are six bits.
template <class V>
class OffsetBlock
{
public:
    OffsetBlock(const float *x, float last)
        : m_last(last)
    {
        float largestD = 0.0F;
        float largestM = 0.0F;
        for (int p = 0; p < pieces; ++p) {
            m_runs[p].load(x + 32 * p);
            m_wanted[p] = offsetScale(m_runs[p], last, 9, 6, 0.15F * last / 15.0F);
            largestD = m_wanted[p].d > largestD ? m_wanted[p].d : largestD;
            largestM = m_wanted[p].m > largestM ? m_wanted[p].m : largestM;
        }
        m_best = chosen(finiteHalf<V>(largestD / 63.0F), finiteHalf<V>(largestM / 63.0F));
        for (int round = 0; round < 2; ++round) {
            const Choice next = refined();
            if (!(next.error < m_best.error))
                break;
            m_best = next;
        }
    }

    std::uint16_t d() const { return m_best.d; }
    std::uint16_t dmin() const { return m_best.dmin; }
    void writeScales(std::uint8_t *out) const
    {
        for (int p = 0; p < 4; ++p) {
            const unsigned scaleAbove = m_best.scale[p + 4];
            const unsigned minimumAbove = m_best.minimum[p + 4];
            out[p] = std::uint8_t(m_best.scale[p] | (scaleAbove >> 4) << 6);
            out[p + 4] = std::uint8_t(m_best.minimum[p] | (minimumAbove >> 4) << 6);
            out[p + 8] = std::uint8_t((scaleAbove & 15U) | (minimumAbove & 15U) << 4);
        }
    }
    void codes(int piece, std::uint8_t *out) const
    {
        const float scale = halfToFloat(m_best.d) * float(m_best.scale[piece]);
        const float offset = halfToFloat(m_best.dmin) * float(m_best.minimum[piece]);
        m_runs[piece].codes(offset, scale == 0.0F ? 0.0F : 1.0F / scale, 0.0F, m_last, 0, out);
    }

private:
    static constexpr int pieces = 8;
    struct Choice
    {
        std::uint16_t d = 0;
        std::uint16_t dmin = 0;
        std::uint8_t scale[pieces];
        std::uint8_t minimum[pieces];
        float error = 0.0F;
    };

    static int nearest(float wanted, float unit)
    {
        const float multiple = unit == 0.0F ? 0.0F : wanted / unit + 0.5F;
        return int(multiple < 63.0F ? multiple : 63.0F);
    }

    Choice chosen(std::uint16_t d, std::uint16_t dmin) const
    {
        Choice choice;
        choice.d = d;
        choice.dmin = dmin;
        const float unit = halfToFloat(d);
        const float minimumUnit = halfToFloat(dmin);
        for (int p = 0; p < pieces; ++p) {
            const int scale = nearest(m_wanted[p].d, unit);
            const int minimum = nearest(m_wanted[p].m, minimumUnit);
            float least = -1.0F;
            for (int s = scale - 1; s <= scale + 1; ++s) {
                for (int m = minimum - 1; m <= minimum + 1; ++m) {
                    if (s < 0 || s > 63 || m < 0 || m > 63)
                        continue;
                    const float error =
                        squaredError(m_runs[p], minimumUnit * float(m), unit * float(s), 0.0F, m_last);
                    if (least < 0.0F || error < least) {
                        least = error;
                        choice.scale[p] = std::uint8_t(s);
                        choice.minimum[p] = std::uint8_t(m);
                    }
                }
            }
            choice.error += least;
        }
        return choice;
    }

    /// With the units that fit best what the present codes and multiples are: the minimum of
    /// Σ (x - d · a + dmin · b)², a = scale · q and b = minimum.
    Choice refined() const
    {
        double aa = 0.0;
        double ab = 0.0;
        double bb = 0.0;
        double ax = 0.0;
        double bx = 0.0;
        const float unit = halfToFloat(m_best.d);
        const float minimumUnit = halfToFloat(m_best.dmin);
        for (int p = 0; p < pieces; ++p) {
            const float s = float(m_best.scale[p]);
            const float m = float(m_best.minimum[p]);
            const float scale = unit * s;
            const float offset = minimumUnit * m;
            const CodeSums sums =
                codeSums(m_runs[p], offset, scale == 0.0F ? 0.0F : 1.0F / scale, 0.0F, m_last);
            aa += double(s) * double(s) * double(sums.qq);
            ab += double(s) * double(m) * double(sums.q);
            bb += double(m) * double(m) * 32.0;
            ax += double(s) * (double(sums.yq) - double(offset) * double(sums.q));
            bx += double(m) * double(m_runs[p].sum());
        }
        const double spread = aa * bb - ab * ab;
        double d = aa > 0.0 ? ax / aa : 0.0;
        double dmin = 0.0;
        if (spread > 1e-9 * aa * bb) {
            d = (ax * bb - bx * ab) / spread;
            dmin = (ax * ab - bx * aa) / spread;
        }
        if (!(d > 0.0) || dmin < 0.0)
            return m_best;
        return chosen(finiteHalf<V>(float(d)), finiteHalf<V>(float(dmin)));
    }

    float m_last;
    WeightRun<V, 2> m_runs[pieces];
    OffsetScale m_wanted[pieces];
    Choice m_best;
};

/// w = d · scale · q for runs of 16, q in [-32, 32); scale is a signed byte.
template <class V>
class SignedBlock
{
public:
    explicit SignedBlock(const float *x)
    {
        float extreme = 0.0F;
        for (int r = 0; r < runs; ++r) {
            m_runs[r].load(x + 16 * r);
            m_wanted[r] = symmetricScale(m_runs[r], middle, 4, 0.25F);
            const float magnitude = m_wanted[r] < 0.0F ? 0.0F - m_wanted[r] : m_wanted[r];
            const float most = extreme < 0.0F ? 0.0F - extreme : extreme;
            extreme = magnitude > most ? m_wanted[r] : extreme;
        }
        m_best = chosen(extreme == 0.0F ? std::uint16_t(0) : finiteHalf<V>(extreme / -128.0F));
        const Choice next = refined();
        if (next.error < m_best.error)
            m_best = next;
    }

    std::uint16_t d() const { return m_best.d; }
    const std::int8_t *scales() const { return m_best.scale; }
    void codes(std::uint8_t *out) const
    {
        for (int r = 0; r < runs; ++r) {
            const float scale = halfToFloat(m_best.d) * float(m_best.scale[r]);
            m_runs[r].codes(0.0F, scale == 0.0F ? 0.0F : 1.0F / scale, -middle, middle - 1.0F, int(middle),
                            out + 16 * r);
        }
    }

private:
    static constexpr int runs = 16;
    static constexpr float middle = 32.0F;
    struct Choice
    {
        std::uint16_t d = 0;
        std::int8_t scale[runs];
        float error = 0.0F;
    };

    static int nearest(float wanted, float unit)
    {
        const float multiple = unit == 0.0F ? 0.0F : wanted / unit;
        if (multiple < 0.0F)
            return int(multiple > -128.0F ? multiple - 0.5F : -128.0F);
        return int(multiple < 127.0F ? multiple + 0.5F : 127.0F);
    }

    Choice chosen(std::uint16_t d) const
    {
        Choice choice;
        choice.d = d;
        const float unit = halfToFloat(d);
        for (int r = 0; r < runs; ++r) {
            const int scale = nearest(m_wanted[r], unit);
            float least = -1.0F;
            for (int s = scale - 1; s <= scale + 1; ++s) {
                if (s < -128 || s > 127)
                    continue;
                const float error = squaredError(m_runs[r], 0.0F, unit * float(s), -middle, middle - 1.0F);
                if (least < 0.0F || error < least) {
                    least = error;
                    choice.scale[r] = std::int8_t(s);
                }
            }
            choice.error += least;
        }
        return choice;
    }

    Choice refined() const
    {
        double aa = 0.0;
        double ax = 0.0;
        const float unit = halfToFloat(m_best.d);
        for (int r = 0; r < runs; ++r) {
            const float s = float(m_best.scale[r]);
            const float scale = unit * s;
            const CodeSums sums =
                codeSums(m_runs[r], 0.0F, scale == 0.0F ? 0.0F : 1.0F / scale, -middle, middle - 1.0F);
            aa += double(s) * double(s) * double(sums.qq);
            ax += double(s) * double(sums.yq);
        }
        return aa > 0.0 && ax != 0.0 ? chosen(finiteHalf<V>(float(ax / aa))) : m_best;
    }

    WeightRun<V, 1> m_runs[runs];
    float m_wanted[runs];
    Choice m_best;
};

} // namespace tokenloupe::kernel
