// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/vectorkernels.h"

// Norms, activations and caps that only some architectures have, over the Vector type V.

namespace tokenloupe::kernel {

/// y[i] = apply(x[i]) for n values.
template <class V, class Apply>
[[gnu::always_inline]] inline void mapInto(const float *x, std::int64_t n, float *y, Apply apply)
{
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, apply(V::load(x + i))); },
        [&](std::int64_t i, int count) { V::storePart(y + i, apply(V::loadPart(x + i, count)), count); });
}

template <class V>
void layerNorm(const float *x, const float *weight, const float *bias, float eps, std::int64_t n, float *y)
{
    using Reg = typename V::Reg;
    auto sum = V::zeroDouble();
    forEachSixteen<V>(
        n, [&](std::int64_t i) { sum = V::addDouble(sum, V::load(x + i)); },
        [&](std::int64_t i, int count) { sum = V::addDouble(sum, V::loadPart(x + i, count)); });
    const float mean = float(V::sumDouble(sum) / double(n));
    const Reg center = V::all(mean);
    auto squares = V::zeroDouble();
    forEachSixteen<V>(
        n,
        [&](std::int64_t i) {
            const Reg d = V::subtract(V::load(x + i), center);
            squares = V::addProductDouble(squares, d, d);
        },
        [&](std::int64_t i, int count) {
            for (int k = 0; k < count; ++k) { // the lanes behind the end are not at the mean
                const Reg d = V::subtract(V::loadPart(x + i + k, 1), V::loadPart(&mean, 1));
                squares = V::addProductDouble(squares, d, d);
            }
        });
    const Reg scale = V::all(float(1.0 / std::sqrt(V::sumDouble(squares) / double(n) + double(eps))));
    const auto apply = [&](Reg a, Reg w) {
        return V::multiply(V::multiply(V::subtract(a, center), scale), w);
    };
    forEachSixteen<V>(
        n,
        [&](std::int64_t i) {
            const Reg scaled = apply(V::load(x + i), V::load(weight + i));
            V::store(y + i, bias ? V::add(scaled, V::load(bias + i)) : scaled);
        },
        [&](std::int64_t i, int count) {
            const Reg scaled = apply(V::loadPart(x + i, count), V::loadPart(weight + i, count));
            V::storePart(y + i, bias ? V::add(scaled, V::loadPart(bias + i, count)) : scaled, count);
        });
}

template <class V>
void multiply(const float *x, std::int64_t n, float *y)
{
    forEachSixteen<V>(
        n, [&](std::int64_t i) { V::store(y + i, V::multiply(V::load(y + i), V::load(x + i))); },
        [&](std::int64_t i, int count) {
            V::storePart(y + i, V::multiply(V::loadPart(y + i, count), V::loadPart(x + i, count)), count);
        });
}

template <class V>
void geluTanh(const float *x, std::int64_t n, float *y)
{
    using Reg = typename V::Reg;
    mapInto<V>(x, n, y, [](Reg v) {
        // -2u = v · (-2√(2/π) - 2√(2/π) · 0.044715 · v²)
        const Reg inner = V::multiplyAdd(V::multiply(v, v), V::all(-0.0713548163F), V::all(-1.59576912F));
        const Reg decay = exponential<V>(V::multiply(v, inner));
        return V::divide(v, V::add(V::all(1.0F), decay));
    });
}

template <class V>
void gelu(const float *x, std::int64_t n, float *y)
{
    using Reg = typename V::Reg;
    // Φ(-|v|) = e^(-v²/2) · p(t) / 2, t = 1 / (1 + 0.3275911 · |v| / √2), the rational approximation of
    // the error function with an error of 1.5e-7 at most; v · Φ(v) = max(v, 0) - |v| · Φ(-|v|) on both sides.
    mapInto<V>(x, n, y, [](Reg v) {
        const Reg size = V::larger(V::subtract(V::zero(), v), v);
        const Reg t = V::divide(V::all(1.0F), V::multiplyAdd(size, V::all(0.231641888F), V::all(1.0F)));
        Reg p = V::multiplyAdd(V::all(0.530702715F), t, V::all(-0.726576014F));
        p = V::multiplyAdd(p, t, V::all(0.710706871F));
        p = V::multiplyAdd(p, t, V::all(-0.142248368F));
        p = V::multiplyAdd(p, t, V::all(0.127414796F));
        const Reg half = V::multiply(size, V::all(-0.5F));
        const Reg tail = V::multiply(V::multiply(p, t), exponential<V>(V::multiply(half, size)));
        return V::subtract(V::larger(V::zero(), v), V::multiply(size, tail));
    });
}

template <class V>
void softCap(float cap, std::int64_t n, float *x)
{
    using Reg = typename V::Reg;
    const Reg top = V::all(cap);
    const Reg twice = V::all(2.0F / cap);
    // tanh(v) = 1 - 2 / (1 + e^2v)
    mapInto<V>(x, n, x, [&](Reg v) {
        const Reg growth = exponential<V>(V::multiply(v, twice));
        const Reg rest = V::divide(V::all(2.0F), V::add(V::all(1.0F), growth));
        return V::multiply(top, V::subtract(V::all(1.0F), rest));
    });
}

} // namespace tokenloupe::kernel
