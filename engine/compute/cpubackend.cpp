// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cpubackend.h"

#include "engine/cache/hostmemory.h"
#include "engine/compute/shapecheck.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tokenloupe {

namespace {

constexpr std::align_val_t lineBytes{64};

class HostBuffer final : public BackendBuffer
{
public:
    HostBuffer(void *memory, std::uint64_t size)
        : m_memory(memory)
        , m_size(size)
    {}
    ~HostBuffer() override { ::operator delete(m_memory, lineBytes); }
    HostBuffer(const HostBuffer &) = delete;
    HostBuffer &operator=(const HostBuffer &) = delete;

    std::byte *data() override { return static_cast<std::byte *>(m_memory); }
    std::uint64_t bytes() const override { return m_size; }

private:
    void *m_memory;
    std::uint64_t m_size;
};

// Element-wise work is cut at fixed places, so that a value is always computed in the same lane of the
// kernel.
constexpr std::int64_t elementPiece = 1024;

} // namespace

std::string_view precisionName(Precision)
{
    return "exact";
}

Result<std::shared_ptr<Backend>> makeCpuBackend(int threads)
{
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads == 0 ? usableCores() : threads);
    if (!pool)
        return tl::unexpected(std::move(pool.error()));
    return std::make_shared<CpuBackend>(std::move(*pool), cpuKernels());
}

CpuBackend::CpuBackend(std::unique_ptr<WorkerPool> pool, const CpuKernels &kernels)
    : m_pool(std::move(pool))
    , m_kernels(kernels)
    , m_queue(m_pool->threads())
{}

Result<std::unique_ptr<BackendBuffer>> CpuBackend::allocate(std::uint64_t bytes, std::string_view what)
{
    if (exceedsHostMemory(bytes))
        return outOfHostMemory(what, bytes);
    void *memory = ::operator new(bytes, lineBytes, std::nothrow);
    if (!memory)
        return outOfHostMemory(what, bytes);
    return std::make_unique<HostBuffer>(memory, bytes);
}

Status CpuBackend::copyToHost(const float *source, std::span<float> target)
{
    std::memcpy(target.data(), source, target.size_bytes());
    return {};
}

const float *CpuBackend::vectorOf(const Weight &weight, std::vector<float> &scratch) const
{
    const auto address = reinterpret_cast<std::uintptr_t>(weight.data.data());
    if (weight.type == TensorType::F32 && address % alignof(float) == 0)
        return reinterpret_cast<const float *>(address);
    scratch.resize(static_cast<std::size_t>(weight.columns));
    m_kernels.dequantizeRow(matrixOf(weight), 0, scratch.data());
    return scratch.data();
}

Status CpuBackend::embed(const Weight &table, std::span<const TokenId> ids, Activations output)
{
    if (Status good = checkWeight("embed", table, output.columns); !good)
        return good;
    if (output.rows != static_cast<std::int64_t>(ids.size()))
        return wrongShape("embed", "rows", output.rows, static_cast<std::int64_t>(ids.size()));
    for (const TokenId id : ids) {
        if (id.value() >= table.rows)
            return makeError(ErrorCode::InvalidArgument, "embed",
                             "token " + std::to_string(id.value()) + " is not one of " +
                                 std::to_string(table.rows));
    }
    const WeightMatrix matrix = matrixOf(table);
    share(output.rows, output.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            m_kernels.dequantizeRow(matrix, ids[static_cast<std::size_t>(row)].value(),
                                    output.data + row * output.columns);
    });
    return {};
}

Status CpuBackend::rmsNorm(Activations input, const Weight &weight, float epsilon, Activations output)
{
    if (Status good = checkWeight("norm", weight, input.columns); !good)
        return good;
    if (Status good = checkSame("norm", input, output); !good)
        return good;
    const float *gain = vectorOf(weight, m_normScratch);
    share(input.rows, input.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            m_kernels.rmsNorm(input.data + row * input.columns, gain, epsilon, input.columns,
                              output.data + row * output.columns);
    });
    return {};
}

Status CpuBackend::rope(Activations values, std::uint32_t firstPosition, const RopeParams &params)
{
    const std::int64_t headSize = params.headSize;
    if (headSize == 0 || values.columns % headSize != 0)
        return wrongShape("rotate", "width that is whole heads", values.columns, headSize);
    if (Status good = checkRotation("rotate", params); !good)
        return good;
    m_rotary.prepare(firstPosition, values.rows, params.inverseFrequencies);
    share(values.rows, 2 * values.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            float *data = values.data + row * values.columns;
            for (std::int64_t head = 0; head < values.columns; head += headSize)
                m_rotary.rotate(data + head, row, params.style);
        }
    });
    return {};
}

Status CpuBackend::siluMultiply(Activations gate, Activations up, Activations output)
{
    for (const Activations &other : {up, output}) {
        if (Status good = checkSame("activation", gate, other); !good)
            return good;
    }
    const std::int64_t pieces = (gate.columns + elementPiece - 1) / elementPiece;
    const std::int64_t expCost = 8;
    share(gate.rows * pieces, expCost * std::min(elementPiece, gate.columns),
          [&](int, std::int64_t begin, std::int64_t end) {
              for (std::int64_t unit = begin; unit < end; ++unit) {
                  const std::int64_t column = unit % pieces * elementPiece;
                  const std::int64_t start = unit / pieces * gate.columns + column;
                  m_kernels.siluMultiply(gate.data + start, up.data + start,
                                         std::min(elementPiece, gate.columns - column), output.data + start);
              }
          });
    return {};
}

Status CpuBackend::add(Activations input, Activations target)
{
    if (Status good = checkSame("add", input, target); !good)
        return good;
    const std::int64_t total = input.rows * input.columns;
    const std::int64_t pieces = (total + elementPiece - 1) / elementPiece;
    share(pieces, elementPiece, [&](int, std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * elementPiece;
        m_kernels.add(input.data + first, std::min(end * elementPiece, total) - first, target.data + first);
    });
    return {};
}

} // namespace tokenloupe
