// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/decodekernels.h"

#include <utility>

// Products with blocks of several scales. A Format here has
//   Scratch                     what is worked out once for a block: scales as float32, at least
//   prepare(block, scratch)
//   read<strip>(block, scratch, w)   columns 64 strip … 64 strip + 63 as four registers

namespace tokenloupe::kernel {

constexpr int stripColumns = 64;

template <class Format>
using StripsOf = std::make_integer_sequence<int, Format::blockValues / stripColumns>;

/// sums += one strip of `rows` rows times x. Columns rise, one multiply-add each, as everywhere.
template <class V, class Format, int rows, int strip>
[[gnu::always_inline]] inline void addStrip(const std::byte *block, std::int64_t rowBytes,
                                            const typename Format::Scratch (&scratch)[rows], const float *x,
                                            typename V::Reg (&sums)[rows])
{
    TOKENLOUPE_UNROLL
    for (int r = 0; r < rows; ++r) {
        typename V::Reg w[4];
        Format::template read<strip>(block + r * rowBytes, scratch[r], w);
        TOKENLOUPE_UNROLL
        for (int i = 0; i < 4; ++i)
            sums[r] = V::multiplyAdd(w[i], V::load(x + strip * stripColumns + 16 * i), sums[r]);
    }
}

template <class V, class Format, int rows, int... strip>
[[gnu::always_inline]] inline void
addStrips(std::integer_sequence<int, strip...>, const std::byte *block, std::int64_t rowBytes,
          const typename Format::Scratch (&scratch)[rows], const float *x, typename V::Reg (&sums)[rows])
{
    (addStrip<V, Format, rows, strip>(block, rowBytes, scratch, x, sums), ...);
}

/// y[0 … rows) = W · x for one token, as QuantDecode.
template <class V, template <class> class Format, int rows>
struct SuperDecode
{
    static void run(const std::byte *w, std::int64_t rowBytes, const float *x, std::int64_t columns, float *y)
    {
        using F = Format<V>;
        constexpr int blockBytes = int(sizeof(typename F::Block));
        typename V::Reg sums[rows];
        for (int r = 0; r < rows; ++r)
            sums[r] = V::zero();
        const std::int64_t distance = prefetchDistance(rows * rowBytes);
        typename F::Scratch scratch[rows];
        const std::int64_t blocks = columns / F::blockValues;
        for (std::int64_t b = 0; b < blocks; ++b, x += F::blockValues) {
            prefetchAhead<V, blockBytes * rows>(w + b * blockBytes * rows, distance);
            const std::byte *block = w + b * blockBytes;
            for (int r = 0; r < rows; ++r)
                F::prepare(block + r * rowBytes, scratch[r]);
            addStrips<V, F, rows>(StripsOf<F>(), block, rowBytes, scratch, x, sums);
        }
        sumAll<V, rows>(sums, y);
    }
};

/// As QuantUnpack; `begin` and `count` are whole blocks.
template <class V, template <class> class Format>
struct SuperUnpack
{
    using F = Format<V>;
    static constexpr int blockBytes = int(sizeof(typename F::Block));

    static void run(const std::byte *row, std::int64_t begin, int count, float *out, int step)
    {
        const std::byte *block = row + begin / F::blockValues * blockBytes;
        typename F::Scratch scratch;
        for (int c = 0; c < count; c += F::blockValues, block += blockBytes) {
            F::prepare(block, scratch);
            storeStrips(StripsOf<F>(), block, scratch, out + c / 16 * step, step);
        }
    }
    static std::int64_t rowBytes(std::int64_t columns) { return columns / F::blockValues * blockBytes; }

private:
    template <int... strip>
    static void storeStrips(std::integer_sequence<int, strip...>, const std::byte *block,
                            const typename F::Scratch &scratch, float *out, int step)
    {
        (storeStrip<strip>(block, scratch, out + strip * 4 * step, step), ...);
    }
    template <int strip>
    static void storeStrip(const std::byte *block, const typename F::Scratch &scratch, float *out, int step)
    {
        typename V::Reg w[4];
        F::template read<strip>(block, scratch, w);
        TOKENLOUPE_UNROLL
        for (int i = 0; i < 4; ++i)
            V::store(out + i * step, w[i]);
    }
};

} // namespace tokenloupe::kernel
