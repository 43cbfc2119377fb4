// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/weightimage.h"

#include "engine/compute/stretchqueue.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>
#include <vector>

namespace tokenloupe {

namespace {

constexpr std::uint64_t packedTogether = 64 << 10; ///< bytes of the file that a thread takes at a time

} // namespace

void writeMatrixImage(const Weight &weight, std::span<std::byte> image, WorkerPool &pool)
{
    const std::uint64_t rowBytes = weight.data.size() / static_cast<std::uint64_t>(weight.rows);
    const auto step = static_cast<std::int64_t>(std::max<std::uint64_t>(1, packedTogether / rowBytes));
    StretchQueue queue(pool.threads());
    queue.reset((weight.rows + step - 1) / step, 1);
    pool.run([&](int worker) {
        for (Stretch part = queue.next(worker); !part.isEmpty(); part = queue.next(worker)) {
            const std::int64_t first = part.begin * step;
            const std::int64_t count = std::min(part.end * step, weight.rows) - first;
            cuda::packDeviceRows(weight.type, weight.rows, weight.columns, first, count,
                                 weight.data.data() + static_cast<std::uint64_t>(first) * rowBytes,
                                 image.data());
        }
    });
}

void writeVectorImage(const Weight &weight, std::span<std::byte> image)
{
    const WeightMatrix matrix{weight.type, weight.rows, weight.columns, weight.data.data()};
    cpuKernels().dequantizeRow(matrix, 0, reinterpret_cast<float *>(image.data()));
}

} // namespace tokenloupe
