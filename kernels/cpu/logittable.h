// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/logitkernels.h"
#include "kernels/cpu/vectorkernels.h"

// LogitKernels over a Vector type V that also has
//   unsigned between(Reg x, Reg low, Reg high)   bit i: low ≤ lane i < high; 0 for NaN
//   unsigned unordered(Reg x)                    bit i: lane i is NaN
//   void pack(Reg x, unsigned mask, std::uint32_t first, std::uint32_t *indices, float *values)
//        the lanes of `mask` (not 0) and their indices (first + lane) one behind the other; sixteen of each
//        may be written

namespace tokenloupe::logitkernel {

using kernel::minusInfinity;

template <class V>
LogitKernels::Scan scan(const float *x, std::int64_t n)
{
    // Four maxima, so that one does not wait for the one before.
    typename V::Reg top[4] = {V::all(minusInfinity), V::all(minusInfinity), V::all(minusInfinity),
                              V::all(minusInfinity)};
    unsigned unordered = 0;
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        for (int k = 0; k < 4; ++k) {
            const auto value = V::load(x + i + 16 * k);
            unordered |= V::unordered(value);
            top[k] = V::larger(value, top[k]); // the second operand where the first is NaN
        }
    }
    float largest = V::largest(V::larger(V::larger(top[0], top[1]), V::larger(top[2], top[3])));
    for (; i < n; ++i) {
        unordered |= unsigned(x[i] != x[i]);
        largest = x[i] > largest ? x[i] : largest;
    }
    return {largest, std::int32_t(unordered != 0)};
}

template <class V>
std::int64_t gather(const float *x, std::int64_t from, std::int64_t n, float low, float high,
                    LogitKernels::Found *found)
{
    const auto lowest = V::all(low);
    const auto highest = V::all(high);
    std::int64_t count = found->count;
    std::int64_t i = from;
    const auto take = [&](typename V::Reg value, unsigned mask) {
        V::pack(value, mask, std::uint32_t(i), found->indices + count, found->values + count);
        count += __builtin_popcount(mask);
    };
    while (i + 16 <= n && count < found->room) {
        const auto value = V::load(x + i);
        if (const unsigned mask = V::between(value, lowest, highest))
            take(value, mask);
        i += 16;
    }
    for (; i < n && count < found->room; ++i) {
        if (x[i] >= low && x[i] < high) {
            found->indices[count] = std::uint32_t(i);
            found->values[count++] = x[i];
        }
    }
    found->count = count;
    return i;
}

template <class V>
std::int64_t countAtLeast(const float *x, std::int64_t n, float bound)
{
    const auto lowest = V::all(bound);
    const auto highest = V::all(__builtin_inff());
    std::int64_t count = 0;
    kernel::forEachSixteen<V>(
        n, [&](std::int64_t i) { count += __builtin_popcount(V::between(V::load(x + i), lowest, highest)); },
        [&](std::int64_t i, int rest) {
            for (int k = 0; k < rest; ++k)
                count += std::int64_t(x[i + k] >= bound);
        });
    return count;
}

template <class V>
void divide(const float *x, float divisor, std::int64_t n, float *out)
{
    const auto d = V::all(divisor);
    kernel::forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(out + i, V::divide(V::load(x + i), d)); },
        [&](std::int64_t i, int count) {
            V::storePart(out + i, V::divide(V::loadPart(x + i, count), d), count);
        });
}

template <class V>
double weightSum(const float *x, std::int64_t n, float maximum)
{
    const auto top = V::all(maximum);
    auto even = V::zeroDouble();
    auto odd = V::zeroDouble();
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
        even = V::addDouble(even, kernel::shiftedExponential<V>(V::load(x + i), top));
        odd = V::addDouble(odd, kernel::shiftedExponential<V>(V::load(x + i + 16), top));
    }
    for (; i < n; i += 16) {
        float lanes[16];
        V::store(lanes, V::all(minusInfinity));
        for (std::int64_t k = 0; k < 16 && i + k < n; ++k)
            lanes[k] = x[i + k];
        even = V::addDouble(even, kernel::shiftedExponential<V>(V::load(lanes), top));
    }
    return V::sumDouble(even) + V::sumDouble(odd);
}

/// All of them over V.
template <class V>
constexpr LogitKernels table(IsaLevel level, const char *name)
{
    return {level, name, scan<V>, gather<V>, countAtLeast<V>, divide<V>, weightSum<V>};
}

/// pack() for sets without an instruction for it.
template <class V>
[[gnu::always_inline]] inline void packOneByOne(typename V::Reg x, unsigned mask, std::uint32_t first,
                                                std::uint32_t *indices, float *values)
{
    float lanes[16];
    V::store(lanes, x);
    do {
        const int lane = __builtin_ctz(mask);
        *indices++ = first + std::uint32_t(lane);
        *values++ = lanes[lane];
        mask &= mask - 1;
    } while (mask != 0);
}

} // namespace tokenloupe::logitkernel
