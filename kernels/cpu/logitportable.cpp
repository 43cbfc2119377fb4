// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/logittable.h"
#include "kernels/cpu/readtable.h"
#include "kernels/cpu/vectorportable.h"

namespace tokenloupe {

namespace portable {

struct LogitVector : Vector
{
    static unsigned between(const Reg &x, const Reg &low, const Reg &high)
    {
        // In a form that compilers turn into vector compares.
        static constexpr unsigned bits[16] = {1U << 0,  1U << 1,  1U << 2,  1U << 3, 1U << 4,  1U << 5,
                                              1U << 6,  1U << 7,  1U << 8,  1U << 9, 1U << 10, 1U << 11,
                                              1U << 12, 1U << 13, 1U << 14, 1U << 15};
        unsigned mask = 0;
        for (int i = 0; i < 16; ++i) {
            const unsigned lowEnough = x.lane[i] < high.lane[i] ? bits[i] : 0U;
            mask |= x.lane[i] >= low.lane[i] ? lowEnough : 0U;
        }
        return mask;
    }
    static unsigned unordered(const Reg &x)
    {
        unsigned found = 0;
        for (const float lane : x.lane)
            found |= unsigned(lane != lane);
        return found;
    }
    static Reg infiniteWhereLess(const Reg &a, const Reg &x, const Reg &y)
    {
        Reg result;
        for (int i = 0; i < 16; ++i)
            result.lane[i] = x.lane[i] < y.lane[i] ? kernel::minusInfinity : a.lane[i];
        return result;
    }
    static DoubleReg addDoubleFrom(const DoubleReg &sum, const float *p) { return addDouble(sum, load(p)); }
    // Written whether wanted or not: no branch to guess.
    static void pack(const Reg &x, unsigned mask, float *out)
    {
        for (int i = 0; i < 16; ++i) {
            *out = x.lane[i];
            out += mask >> i & 1U;
        }
    }
    static void packIndices(std::uint32_t first, unsigned mask, std::uint32_t *out)
    {
        for (std::uint32_t i = 0; i < 16; ++i) {
            *out = first + i;
            out += mask >> i & 1U;
        }
    }
};

} // namespace portable

const LogitKernels &portableLogitKernels()
{
    static constexpr LogitKernels kernels =
        logitkernel::table<portable::LogitVector>(IsaLevel::Portable, "portable");
    return kernels;
}

float portableReadAll(const std::byte *data, std::int64_t bytes)
{
    return readkernel::readAll<portable::Vector>(data, bytes);
}

} // namespace tokenloupe
