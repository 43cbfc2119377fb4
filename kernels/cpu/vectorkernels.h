// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstdint>

// Everything of CpuKernels but the matrix products, over the Vector type V.

namespace tokenloupe::kernel {

/// e^x for x in [-105, 90], at most 1 ulp off (the test goes over the whole range).
///
/// x = n · ln 2 + r with |r| ≤ ln 2 / 2; e^r by a polynomial whose own error is 4e-9 (least largest relative
/// error, coefficients rounded to float32). ln 2 is split in a part with few bits, so that n times it is
/// exact, and the rest.
template <class V>
[[gnu::always_inline]] inline typename V::Reg exponentialInRange(typename V::Reg x)
{
    using Reg = typename V::Reg;
    const Reg bias = V::all(12582912.0F); // 1.5 · 2^23: adding it rounds to an integer
    const Reg biased = V::multiplyAdd(x, V::all(1.44269504F), bias);
    const Reg n = V::subtract(biased, bias);
    const Reg r = V::multiplyAdd(n, V::all(2.12194440e-4F), V::multiplyAdd(n, V::all(-0.693359375F), x));
    Reg p = V::multiplyAdd(V::all(0x1.6a23cep-10F), r, V::all(0x1.123a2p-7F));
    p = V::multiplyAdd(p, r, V::all(0x1.5558f2p-5F));
    p = V::multiplyAdd(p, r, V::all(0x1.555492p-3F));
    p = V::multiplyAdd(p, r, V::all(0x1.fffffcp-2F));
    p = V::multiplyAdd(V::multiply(r, r), p, r);
    return V::scaleByPower(V::add(p, V::all(1.0F)), biased, bias);
}

/// Of any x: e^-inf = 0, NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline typename V::Reg exponential(typename V::Reg x)
{
    x = V::larger(V::all(-105.0F), x); // the result is 0 from -104 on
    x = V::smaller(V::all(90.0F), x);  // and infinite from 88.8 on
    return exponentialInRange<V>(x);
}

/// Calls full(i) for each sixteen values of n, then part(i, count) for the rest.
template <class V, class Full, class Part>
void forEachSixteen(std::int64_t n, Full full, Part part)
{
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        full(i);
    if (i < n)
        part(i, int(n - i));
}

template <class V>
void rmsNorm(const float *x, const float *weight, float eps, std::int64_t n, float *y)
{
    using Reg = typename V::Reg;
    auto squares = V::zeroDouble();
    const auto square = [&](Reg a) { squares = V::addProductDouble(squares, a, a); };
    forEachSixteen<V>(
        n, [&](std::int64_t i) { square(V::load(x + i)); },
        [&](std::int64_t i, int count) { square(V::loadPart(x + i, count)); });
    const double mean = V::sumDouble(squares) / double(n);
    const Reg scale = V::all(float(1.0 / std::sqrt(mean + double(eps))));
    const auto apply = [&](Reg a, Reg w) { return V::multiply(V::multiply(a, scale), w); };
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, apply(V::load(x + i), V::load(weight + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, apply(V::loadPart(x + i, count), V::loadPart(weight + i, count)), count);
        });
}

template <class V>
void add(const float *x, std::int64_t n, float *y)
{
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, V::add(V::load(y + i), V::load(x + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, V::add(V::loadPart(y + i, count), V::loadPart(x + i, count)), count);
        });
}

template <class V>
void siluMultiply(const float *gate, const float *up, std::int64_t n, float *y)
{
    using Reg = typename V::Reg;
    const auto silu = [](Reg v) {
        const Reg decay = exponential<V>(V::subtract(V::zero(), v));
        return V::divide(v, V::add(V::all(1.0F), decay));
    };
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, V::multiply(silu(V::load(gate + i)), V::load(up + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, V::multiply(silu(V::loadPart(gate + i, count)), V::loadPart(up + i, count)),
                         count);
        });
}

template <class V>
float dot(const float *a, const float *b, std::int64_t n)
{
    auto sum = V::zero();
    forEachSixteen<V>(
        n, [&](std::int64_t i) { sum = V::multiplyAdd(V::load(a + i), V::load(b + i), sum); },
        [&](std::int64_t i, int count) {
            sum = V::multiplyAdd(V::loadPart(a + i, count), V::loadPart(b + i, count), sum);
        });
    return V::sum(sum);
}

template <class V>
void axpy(float scale, const float *x, std::int64_t n, float *y)
{
    const auto s = V::all(scale);
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, V::multiplyAdd(s, V::load(x + i), V::load(y + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, V::multiplyAdd(s, V::loadPart(x + i, count), V::loadPart(y + i, count)),
                         count);
        });
}

template <class V>
void scale(float factor, std::int64_t n, float *y)
{
    const auto s = V::all(factor);
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, V::multiply(V::load(y + i), s)); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, V::multiply(V::loadPart(y + i, count), s), count);
        });
}

constexpr float minusInfinity = -__builtin_inff();

/// e^(x - max), and 0 for -inf whatever max is (also -inf, where the difference is NaN).
template <class V>
[[gnu::always_inline]] inline typename V::Reg shiftedExponential(typename V::Reg x, typename V::Reg max)
{
    return V::zeroWhereEqual(exponential<V>(V::subtract(x, max)), x, V::all(minusInfinity));
}

template <class V>
float expSum(float *x, float max, std::int64_t n)
{
    using Reg = typename V::Reg;
    const Reg top = V::all(max);
    auto sum = V::zeroDouble(); // a context or a vocabulary of float32 sums would lose digits
    forEachSixteen<V>(
        n,
        [&](std::int64_t i) {
            const Reg e = shiftedExponential<V>(V::load(x + i), top);
            V::store(x + i, e);
            sum = V::addDouble(sum, e);
        },
        [&](std::int64_t i, int count) {
            V::storePart(x + i, shiftedExponential<V>(V::loadPart(x + i, count), top), count);
            sum = V::addDouble(sum, V::loadPart(x + i, count)); // read again: the lanes behind the end are 0
        });
    return float(V::sumDouble(sum));
}

template <class V>
float maximum(const float *x, std::int64_t n)
{
    auto top = V::all(minusInfinity);
    float rest = minusInfinity;
    forEachSixteen<V>(
        n, [&](std::int64_t i) { top = V::larger(V::load(x + i), top); },
        [&](std::int64_t i, int count) {
            for (int k = 0; k < count; ++k)
                rest = x[i + k] > rest ? x[i + k] : rest;
        });
    const float whole = V::largest(top);
    return rest > whole ? rest : whole;
}

template <class V>
void toHalf(const float *x, std::int64_t n, std::uint16_t *out)
{
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::storeHalf(out + i, V::load(x + i)); },
        [&](std::int64_t i, int count) { V::storeHalfPart(out + i, V::loadPart(x + i, count), count); });
}

template <class V>
void fromHalf(const std::uint16_t *x, std::int64_t n, float *out)
{
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(out + i, V::loadHalf(x + i)); },
        [&](std::int64_t i, int count) { V::storePart(out + i, V::loadHalfPart(x + i, count), count); });
}

template <class V>
void softmaxMoments(const float *x, std::int64_t n, float max, double *sumExp, double *sumXExp)
{
    using Reg = typename V::Reg;
    const Reg top = V::all(max);
    auto first = V::zeroDouble();
    auto second = V::zeroDouble();
    const auto take = [&](Reg value) {
        const Reg skip = V::all(minusInfinity);
        const Reg e = shiftedExponential<V>(value, top);
        first = V::addDouble(first, e);
        second = V::addProductDouble(second, V::zeroWhereEqual(V::subtract(value, top), value, skip), e);
    };
    forEachSixteen<V>(
        n, [&](std::int64_t i) { take(V::load(x + i)); },
        [&](std::int64_t i, int count) {
            float lanes[16];
            V::store(lanes, V::all(minusInfinity));
            for (int k = 0; k < count; ++k)
                lanes[k] = x[i + k];
            take(V::load(lanes));
        });
    *sumExp = V::sumDouble(first);
    *sumXExp = V::sumDouble(second);
}

} // namespace tokenloupe::kernel
