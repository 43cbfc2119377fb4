// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/logitkernels.h"
#include "kernels/cpu/vectorkernels.h"

// LogitKernels over a Vector type V that also has
//   unsigned between(Reg x, Reg low, Reg high)   bit i: low ≤ lane i < high; 0 for NaN
//   unsigned unordered(Reg x)                    bit i: lane i is NaN
//   Reg infiniteWhereLess(Reg a, Reg x, Reg y)   -inf where lane i of x is less than that of y, else a
//   DoubleReg addDoubleFrom(DoubleReg sum, const float *p)   addDouble() of sixteen in memory
//   void pack(Reg x, unsigned mask, float *out)   the lanes of `mask` one behind the other
//   void packIndices(std::uint32_t first, unsigned mask, std::uint32_t *out)   their numbers, from `first` on
//        Both may write sixteen.

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

/// Calls take(values, mask, place) for those of x[from], x[from + 1], … among which there are some with
/// low ≤ x < high, sixteen at a time, as long as more() says so; returns the place behind the last one.
template <class V, class More, class Take>
std::int64_t forEachBetween(const float *x, std::int64_t from, std::int64_t n, float low, float high,
                            More more, Take take)
{
    const auto lowest = V::all(low);
    const auto highest = V::all(high);
    std::int64_t i = from;
    // Sixty-four for one decision: whether there is any among sixteen is hard to foresee where a few in a
    // hundred are wanted.
    for (; i + 64 <= n && more(); i += 64) {
        typename V::Reg value[4];
        unsigned mask[4];
        for (int k = 0; k < 4; ++k) {
            value[k] = V::load(x + i + 16 * k);
            mask[k] = V::between(value[k], lowest, highest);
        }
        if ((mask[0] | mask[1] | mask[2] | mask[3]) == 0)
            continue;
        for (int k = 0; k < 4; ++k)
            take(value[k], mask[k], i + 16 * k);
    }
    for (; i < n && more(); i += 16) {
        const int count = n - i < 16 ? int(n - i) : 16;
        const auto value = V::loadPart(x + i, count);
        take(value, V::between(value, lowest, highest) & ((1U << count) - 1U), i);
    }
    return i < n ? i : n;
}

template <class V>
std::int64_t gather(const float *x, std::int64_t from, std::int64_t n, float low, float high,
                    LogitKernels::Found *found)
{
    std::int64_t count = found->count;
    const std::int64_t end = forEachBetween<V>(
        x, from, n, low, high, [&] { return count < found->room; },
        [&](typename V::Reg value, unsigned mask, std::int64_t place) {
            V::packIndices(std::uint32_t(place), mask, found->indices + count);
            V::pack(value, mask, found->values + count);
            count += __builtin_popcount(mask);
        });
    found->count = count;
    return end;
}

template <class V>
std::int64_t select(const float *x, std::int64_t n, float low, float high, float *out)
{
    std::int64_t count = 0;
    forEachBetween<V>(
        x, 0, n, low, high, [] { return true; },
        [&](typename V::Reg value, unsigned mask, std::int64_t) {
            V::pack(value, mask, out + count);
            count += __builtin_popcount(mask);
        });
    return count;
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
void divide(const float *x, float floor, float divisor, std::int64_t n, float *out)
{
    const auto lowest = V::all(floor);
    const auto d = V::all(divisor);
    const auto quotient = [=](typename V::Reg value) {
        return V::infiniteWhereLess(V::divide(value, d), value, lowest);
    };
    kernel::forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(out + i, quotient(V::load(x + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(out + i, quotient(V::loadPart(x + i, count)), count);
        });
}

template <class V>
double weightSum(const float *x, std::int64_t n, float maximum)
{
    const auto top = V::all(maximum);
    // e^-87 is the last power that is no subnormal float: those take long, and what is less (-inf as well)
    // adds nothing to a sum of 1 and more, which the whole row's is.
    const auto weight = [top](typename V::Reg value) {
        return kernel::exponentialInRange<V>(V::larger(V::all(-87.0F), V::subtract(value, top)));
    };
    auto even = V::zeroDouble();
    auto odd = V::zeroDouble();
    // Through memory: reading a float as a double takes less than taking registers apart.
    constexpr int block = 256;
    alignas(64) float weights[block];
    std::int64_t i = 0;
    for (; i + block <= n; i += block) {
        for (int k = 0; k < block; k += 16)
            V::store(weights + k, weight(V::load(x + i + k)));
        for (int k = 0; k < block; k += 32) {
            even = V::addDoubleFrom(even, weights + k);
            odd = V::addDoubleFrom(odd, weights + k + 16);
        }
    }
    for (; i < n; i += 16) {
        float lanes[16];
        V::store(lanes, V::all(minusInfinity));
        for (std::int64_t k = 0; k < 16 && i + k < n; ++k)
            lanes[k] = x[i + k];
        even = V::addDouble(even, weight(V::load(lanes)));
    }
    return V::sumDouble(even) + V::sumDouble(odd);
}

/// All of them over V.
template <class V>
constexpr LogitKernels table(IsaLevel level, const char *name)
{
    return {level, name, scan<V>, gather<V>, select<V>, countAtLeast<V>, divide<V>, weightSum<V>};
}

} // namespace tokenloupe::logitkernel
