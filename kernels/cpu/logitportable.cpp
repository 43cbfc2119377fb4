// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/logittable.h"
#include "kernels/cpu/readtable.h"
#include "kernels/cpu/vectorportable.h"

namespace tokenloupe {

namespace portable {

/// The lanes of four whose bits are set, the lowest first, by mask.
struct SetLanes
{
    std::uint8_t lane[4];
    std::uint8_t count;
};
constexpr SetLanes setLanes[16] = {
    {{0, 0, 0, 0}, 0}, {{0, 0, 0, 0}, 1}, {{1, 0, 0, 0}, 1}, {{0, 1, 0, 0}, 2},
    {{2, 0, 0, 0}, 1}, {{0, 2, 0, 0}, 2}, {{1, 2, 0, 0}, 2}, {{0, 1, 2, 0}, 3},
    {{3, 0, 0, 0}, 1}, {{0, 3, 0, 0}, 2}, {{1, 3, 0, 0}, 2}, {{0, 1, 3, 0}, 3},
    {{2, 3, 0, 0}, 2}, {{0, 2, 3, 0}, 3}, {{1, 2, 3, 0}, 3}, {{0, 1, 2, 3}, 4}};

struct LogitVector : Vector
{
    static unsigned between(const Reg &x, const Reg &low, const Reg &high)
    {
        unsigned mask = 0;
        for (int i = 0; i < 16; i += 4) {
            const auto in = (four(x, i) >= four(low, i)) & (four(x, i) < four(high, i));
            mask |= ((in[0] & 1U) | (in[1] & 2U) | (in[2] & 4U) | (in[3] & 8U)) << i;
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
        for (int i = 0; i < 16; i += 4) {
            const Four least = Four{} + kernel::minusInfinity;
            const Four value = four(x, i) < four(y, i) ? least : four(a, i);
            std::memcpy(result.lane + i, &value, sizeof value);
        }
        return result;
    }
    static DoubleReg addDoubleFrom(const DoubleReg &sum, const float *p) { return addDouble(sum, load(p)); }
    // Four lanes at a time by a table: no branch to guess.
    static void pack(const Reg &x, unsigned mask, float *out)
    {
        for (int i = 0; i < 16; i += 4) {
            const SetLanes &set = setLanes[mask >> i & 15U];
            for (int k = 0; k < 4; ++k)
                out[k] = x.lane[i + set.lane[k]];
            out += set.count;
        }
    }
    static void packIndices(std::uint32_t first, unsigned mask, std::uint32_t *out)
    {
        for (unsigned i = 0; i < 16; i += 4) {
            const SetLanes &set = setLanes[mask >> i & 15U];
            for (int k = 0; k < 4; ++k)
                out[k] = first + i + set.lane[k];
            out += set.count;
        }
    }

private:
    // Compilers make vector compares of these, not of the same in a loop.
    using Four [[gnu::vector_size(16)]] = float;
    static Four four(const Reg &a, int lane)
    {
        Four result;
        std::memcpy(&result, a.lane + lane, sizeof result);
        return result;
    }
};

std::int64_t countAtLeast(const float *x, std::int64_t n, float bound)
{
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n;) {
        std::int32_t part = 0; // as wide as the compares
        for (const std::int64_t end = n - i < 4096 ? n : i + 4096; i < end; ++i)
            part += std::int32_t(x[i] >= bound);
        count += part;
    }
    return count;
}

constexpr LogitKernels makeTable()
{
    LogitKernels kernels = logitkernel::table<LogitVector>(IsaLevel::Portable, "portable");
    kernels.countAtLeast = countAtLeast;
    return kernels;
}

} // namespace portable

const LogitKernels &portableLogitKernels()
{
    static constexpr LogitKernels kernels = portable::makeTable();
    return kernels;
}

float portableReadAll(const std::byte *data, std::int64_t bytes)
{
    return readkernel::readAll<portable::Vector>(data, bytes);
}

} // namespace tokenloupe
