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
        unsigned mask = 0;
        for (int i = 0; i < 16; ++i)
            mask |= unsigned(x.lane[i] >= low.lane[i] && x.lane[i] < high.lane[i]) << i;
        return mask;
    }
    static unsigned unordered(const Reg &x)
    {
        unsigned found = 0;
        for (const float lane : x.lane)
            found |= unsigned(lane != lane);
        return found;
    }
    static void pack(const Reg &x, unsigned mask, std::uint32_t first, std::uint32_t *indices, float *values)
    {
        logitkernel::packOneByOne<Vector>(x, mask, first, indices, values);
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
