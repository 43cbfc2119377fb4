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

} // namespace

Result<std::shared_ptr<Backend>> makeCpuBackend(int threads)
{
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads == 0 ? usableCores() : threads);
    if (!pool)
        return tl::unexpected(std::move(pool.error()));
    return std::make_shared<CpuBackend>(std::move(*pool), cpuKernels(), fastKernels());
}

CpuBackend::CpuBackend(std::unique_ptr<WorkerPool> pool, const CpuKernels &kernels,
                       const FastKernels &fastKernels)
    : m_pool(std::move(pool))
    , m_kernels(kernels)
    , m_fastKernels(fastKernels)
    , m_queue(m_pool->threads())
{}

Status CpuBackend::prepare(const std::shared_ptr<const Model> &model, Precision precision,
                           const ModelPart &part, Progress *progress, const std::stop_token &stop)
{
    m_head = &model->weights().outputHead;
    m_packed.reset();
    m_inPlace.reset();
    m_following.clear();
    m_lastCall = nullptr;
    if (precision == Precision::Exact) {
        auto inPlace = model->keepInPlace(part, *m_pool, progress, stop);
        if (!inPlace)
            return tl::unexpected(inPlace.error());
        m_inPlace = std::move(*inPlace);
        return {};
    }
    auto packed = PackedWeights::of(model, part, *m_pool, progress, stop);
    if (!packed)
        return tl::unexpected(packed.error());
    m_packed = std::move(*packed);
    return {};
}

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

Status CpuBackend::write(std::span<const float> source, float *target)
{
    std::memmove(target, source.data(), source.size_bytes());
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
    const OperationWatch::Scope counted(m_watch, Operation::Embedding);
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
    const PackedMatrix *packed = m_packed ? m_packed->find(table) : nullptr;
    share(output.rows, output.columns, [&](int, std::int64_t begin, std::int64_t end) {
        std::vector<std::byte> unpacked(packed ? table.data.size() / std::size_t(table.rows) : 0);
        for (std::int64_t row = begin; row < end; ++row) {
            const std::int64_t id = ids[static_cast<std::size_t>(row)].value();
            float *out = output.data + row * output.columns;
            if (!packed) {
                m_kernels.dequantizeRow(matrix, id, out);
                continue;
            }
            unpackRow(*packed, id, unpacked.data());
            m_kernels.dequantizeRow({matrix.type, 1, matrix.columns, unpacked.data()}, 0, out);
        }
    });
    return {};
}

Status CpuBackend::addRows(const Weight &table, std::uint32_t first, Activations target)
{
    const OperationWatch::Scope counted(m_watch, Operation::Embedding);
    if (Status good = checkWeight("add rows", table, target.columns); !good)
        return good;
    if (std::int64_t(first) + target.rows > table.rows)
        return wrongShape("add rows", "rows", table.rows, std::int64_t(first) + target.rows);
    const WeightMatrix matrix = matrixOf(table);
    std::vector<float> row(static_cast<std::size_t>(target.columns));
    for (std::int64_t r = 0; r < target.rows; ++r) {
        m_kernels.dequantizeRow(matrix, first + r, row.data());
        m_kernels.add(row.data(), target.columns, target.data + r * target.columns);
    }
    return {};
}

Status CpuBackend::norm(Activations input, const NormParams &params, Activations output)
{
    const OperationWatch::Scope counted(m_watch, Operation::Norm);
    if (Status good = checkWeight("norm", *params.gain, input.columns); !good)
        return good;
    if (Status good = checkSame("norm", input, output); !good)
        return good;
    if (input.rows == 1 && m_packed)
        noteGain(*params.gain);
    const float *gain = vectorOf(*params.gain, m_normScratch);
    if (params.gainOffset != 0.0F) {
        if (gain != m_normScratch.data())
            m_normScratch.assign(gain, gain + input.columns);
        for (float &value : m_normScratch)
            value += params.gainOffset;
        gain = m_normScratch.data();
    }
    const float *bias = nullptr;
    if (params.bias && params.bias->isPresent()) {
        if (Status good = checkWeight("norm", *params.bias, input.columns); !good)
            return good;
        bias = vectorOf(*params.bias, m_normBiasScratch);
    }
    share(input.rows, input.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            const float *from = input.data + row * input.columns;
            float *to = output.data + row * output.columns;
            if (params.kind == NormKind::Rms)
                m_kernels.rmsNorm(from, gain, params.epsilon, input.columns, to);
            else
                m_kernels.layerNorm(from, gain, bias, params.epsilon, input.columns, to);
        }
    });
    return {};
}

Status CpuBackend::rope(Activations values, std::uint32_t firstPosition, const RopeParams &params)
{
    const OperationWatch::Scope counted(m_watch, Operation::RotaryStore);
    const std::int64_t headSize = params.headSize;
    if (headSize == 0 || values.columns % headSize != 0)
        return wrongShape("rotate", "width that is whole heads", values.columns, headSize);
    if (Status good = checkRotation("rotate", params); !good)
        return good;
    RotaryTable &table = m_rotary.of(params.inverseFrequencies, params.magnitude);
    table.prepare(firstPosition, values.rows, params.inverseFrequencies, params.magnitude);
    share(values.rows, 2 * values.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            float *data = values.data + row * values.columns;
            for (std::int64_t head = 0; head < values.columns; head += headSize)
                table.rotate(data + head, row, params.style);
        }
    });
    return {};
}

void CpuBackend::activatePiece(Activation activation, const float *gate, const float *up, std::int64_t count,
                               float *output) const
{
    switch (activation) {
    case Activation::SiluGated:
        m_kernels.siluMultiply(gate, up, count, output);
        break;
    case Activation::GeluTanhGated:
        m_kernels.geluTanh(gate, count, output);
        m_kernels.multiply(up, count, output);
        break;
    case Activation::GeluTanh:
        m_kernels.geluTanh(gate, count, output);
        break;
    case Activation::Gelu:
        m_kernels.gelu(gate, count, output);
        break;
    }
}

Status CpuBackend::activate(Activation activation, Activations gate, Activations up, Activations output)
{
    const OperationWatch::Scope counted(m_watch, Operation::Activation);
    const bool isGated = activation == Activation::SiluGated || activation == Activation::GeluTanhGated;
    if (Status good = checkSame("activation", gate, output); !good)
        return good;
    if (Status good = isGated ? checkSame("activation", gate, up) : Status(); !good)
        return good;
    const std::int64_t pieces = (gate.columns + elementPiece - 1) / elementPiece;
    const std::int64_t expCost = 8;
    share(gate.rows * pieces, expCost * std::min(elementPiece, gate.columns),
          [&](int, std::int64_t begin, std::int64_t end) {
              for (std::int64_t unit = begin; unit < end; ++unit) {
                  const std::int64_t column = unit % pieces * elementPiece;
                  const std::int64_t start = unit / pieces * gate.columns + column;
                  activatePiece(activation, gate.data + start, isGated ? up.data + start : nullptr,
                                std::min(elementPiece, gate.columns - column), output.data + start);
              }
          });
    return {};
}

Status CpuBackend::scale(Activations values, float factor)
{
    const OperationWatch::Scope counted(m_watch, Operation::Embedding);
    sharePieces(values, 1, [&](std::int64_t first, std::int64_t count) {
        m_kernels.scale(factor, count, values.data + first);
    });
    return {};
}

Status CpuBackend::clamp(Activations values, float limit)
{
    const OperationWatch::Scope counted(m_watch, Operation::Norm);
    sharePieces(values, 1, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i)
            values.data[i] = std::clamp(values.data[i], -limit, limit);
    });
    return {};
}

Status CpuBackend::softCap(Activations values, float cap)
{
    const OperationWatch::Scope counted(m_watch, Operation::Head);
    const std::int64_t expCost = 8;
    sharePieces(values, expCost, [&](std::int64_t first, std::int64_t count) {
        m_kernels.softCap(cap, count, values.data + first);
    });
    return {};
}

Status CpuBackend::add(Activations input, Activations target)
{
    const OperationWatch::Scope counted(m_watch, Operation::Norm);
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
