// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/blocks.h"

// Neighbouring weights that share a scale, and the search for the scale whose codes lose least. As in
// quantizekernels.h only single operations are used, so every instruction set chooses the same.

namespace tokenloupe::kernel {

/// Sixteen weights a register. NaN counts as 0; what is too large for any stored scale as the largest that
/// is not.
template <class V, int registers>
struct WeightRun
{
    using Reg = typename V::Reg;
    static constexpr int values = 16 * registers;

    void load(const float *from)
    {
        alignas(64) float good[values];
        for (int i = 0; i < values; ++i) {
            const float limit = 524032.0F; // eight times the largest half
            const float value = from[i];
            good[i] = value > limit ? limit : value < -limit ? -limit : value == value ? value : 0.0F;
        }
        for (int r = 0; r < registers; ++r)
            x[r] = V::load(good + 16 * r);
    }

    float largest() const
    {
        Reg most = x[0];
        for (int r = 1; r < registers; ++r)
            most = V::larger(most, x[r]);
        return V::largest(most);
    }
    float smallest() const
    {
        Reg least = x[0];
        for (int r = 1; r < registers; ++r)
            least = V::smaller(least, x[r]);
        return 0.0F - V::largest(V::subtract(V::zero(), least));
    }
    float sum() const
    {
        Reg total = x[0];
        for (int r = 1; r < registers; ++r)
            total = V::add(total, x[r]);
        return V::sum(total);
    }

    /// The whole number in [first, last] nearest to (x + offset) · inverse.
    Reg code(int r, float offset, float inverse, float first, float last) const
    {
        const Reg rounding = V::all(12582912.0F); // 1.5 · 2^23: added, it leaves no fraction
        const Reg exact = V::multiply(V::add(x[r], V::all(offset)), V::all(inverse));
        const Reg inRange = V::smaller(V::larger(exact, V::all(first)), V::all(last));
        return V::subtract(V::add(inRange, rounding), rounding);
    }
    /// The same as integers, `shift` added.
    void codes(float offset, float inverse, float first, float last, int shift, std::uint8_t *out) const
    {
        alignas(64) float numbers[values];
        for (int r = 0; r < registers; ++r)
            V::store(numbers + 16 * r, code(r, offset, inverse, first, last));
        for (int i = 0; i < values; ++i)
            out[i] = std::uint8_t(int(numbers[i]) + shift);
    }

    Reg x[registers];
};

/// Sums over the codes q of a run; y is x + offset.
struct CodeSums
{
    float q = 0.0F;
    float qq = 0.0F;
    float yq = 0.0F;
};

template <class V, int registers>
CodeSums codeSums(const WeightRun<V, registers> &run, float offset, float inverse, float first, float last)
{
    typename V::Reg sums[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    for (int r = 0; r < registers; ++r) {
        const typename V::Reg q = run.code(r, offset, inverse, first, last);
        const typename V::Reg y = V::add(run.x[r], V::all(offset));
        sums[0] = V::add(sums[0], q);
        sums[1] = V::add(sums[1], V::multiply(q, q));
        sums[2] = V::add(sums[2], V::multiply(y, q));
    }
    float out[4];
    V::sumFour(sums, out);
    return {out[0], out[1], out[2]};
}

/// Σ (x + offset - d · q)² with the best codes for this d.
template <class V, int registers>
float squaredError(const WeightRun<V, registers> &run, float offset, float d, float first, float last)
{
    const float inverse = d == 0.0F ? 0.0F : 1.0F / d;
    typename V::Reg sum = V::zero();
    for (int r = 0; r < registers; ++r) {
        const typename V::Reg q = run.code(r, offset, inverse, first, last);
        const typename V::Reg y = V::add(run.x[r], V::all(offset));
        const typename V::Reg e = V::subtract(y, V::multiply(V::all(d), q));
        sum = V::add(sum, V::multiply(e, e));
    }
    return V::sum(sum);
}

/// The d for x ≈ d · q, q in [-middle, middle), with the least squared error: tried are the scales that put
/// the largest magnitude near either end; for the codes of each, the best d follows.
template <class V, int registers>
float symmetricScale(const WeightRun<V, registers> &run, float middle, int steps, float step)
{
    const float highest = run.largest();
    const float lowest = run.smallest();
    const float extreme = highest > 0.0F - lowest ? highest : lowest;
    if (extreme == 0.0F)
        return 0.0F;
    float best = extreme / -middle;
    float bestGain = 0.0F; // how far Σ (x - d · q)² is below Σ x²
    for (int side = 0; side < 2; ++side) {
        const float end = side == 0 ? -middle : middle - 1.0F;
        for (int i = -steps; i <= steps; ++i) {
            const float inverse = (end + float(i) * step) / extreme;
            const CodeSums sums = codeSums(run, 0.0F, inverse, -middle, middle - 1.0F);
            if (sums.qq <= 0.0F)
                continue;
            const float d = sums.yq / sums.qq;
            if (const float gain = d * sums.yq; gain > bestGain) {
                bestGain = gain;
                best = d;
            }
        }
    }
    return best;
}

/// x ≈ d · q - m
struct OffsetScale
{
    float d = 0.0F; ///< ≥ 0
    float m = 0.0F; ///< ≥ 0
};

/// The same with an offset, q in [0, last].
template <class V, int registers>
OffsetScale offsetScale(const WeightRun<V, registers> &run, float last, int below, int above, float step)
{
    constexpr float n = float(WeightRun<V, registers>::values);
    const float smallest = run.smallest();
    const float lowest = smallest < 0.0F ? smallest : 0.0F;
    const float range = run.largest() - lowest;
    OffsetScale best{0.0F, 0.0F - lowest};
    if (range <= 0.0F)
        return best;
    best.d = range / last;
    // Measured from the lowest, so that no large numbers are subtracted from each other.
    const float total = run.sum() - n * lowest;
    float bestGain = 0.0F;
    for (int i = -below; i <= above; ++i) {
        const CodeSums sums = codeSums(run, 0.0F - lowest, (last + float(i) * step) / range, 0.0F, last);
        const float spread = n * sums.qq - sums.q * sums.q;
        if (spread <= 0.0F)
            continue;
        float d = (n * sums.yq - total * sums.q) / spread;
        float c = (total - d * sums.q) / n; // y ≈ d · q + c
        if (lowest + c > 0.0F) {
            c = 0.0F - lowest;
            d = (sums.yq - c * sums.q) / sums.qq;
        }
        const float gain =
            2.0F * (d * sums.yq + c * total) - d * d * sums.qq - n * c * c - 2.0F * d * c * sums.q;
        if (d > 0.0F && gain > bestGain) {
            bestGain = gain;
            best = {d, 0.0F - (lowest + c)};
        }
    }
    return best;
}

} // namespace tokenloupe::kernel
