// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/gpucheck/devicetimes.h"

#include "engine/compute/cuda/cublashandle.h"
#include "engine/compute/cuda/cudadevice.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/matrixproduct.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/rowops.h"
#include "kernels/cuda/statistics.h"
#include "kernels/cuda/weightlayout.h"
#include "tests/kernels/cuda/devicerows.h"

#include <algorithm>
#include <optional>

namespace tokenloupe::test {

namespace {

using Json = nlohmann::json;
/// Memory of one value everywhere: as codes, scales and halves it is a small positive number.
class Bytes : public DeviceValues<std::byte>
{
public:
    explicit Bytes(std::uint64_t count)
        : DeviceValues(count)
    {
        demand(cudaMemset(data(), 0x11, count));
    }
};

class DeviceTimes
{
public:
    DeviceTimes(const DeviceTimesRequest &request, const CudaDevice &device)
        : m_request(request)
        , m_device(device)
    {
        demand(cudaEventCreate(&m_begin));
        demand(cudaEventCreate(&m_end));
    }
    ~DeviceTimes()
    {
        cudaEventDestroy(m_begin);
        cudaEventDestroy(m_end);
    }
    DeviceTimes(const DeviceTimes &) = delete;
    DeviceTimes &operator=(const DeviceTimes &) = delete;

    Json run();

private:
    /// Seconds of one of `count` different starts, after all were done once.
    template <class Start>
    double seconds(std::int64_t count, const Start &start)
    {
        for (std::int64_t i = 0; i < count; ++i)
            demand(start(i));
        demand(cudaEventRecord(m_begin, nullptr));
        for (std::int32_t round = 0; round < m_request.rounds; ++round) {
            for (std::int64_t i = 0; i < count; ++i)
                demand(start(i));
        }
        demand(cudaEventRecord(m_end, nullptr));
        demand(cudaEventSynchronize(m_end));
        float milliseconds = 0.0F;
        demand(cudaEventElapsedTime(&milliseconds, m_begin, m_end));
        return std::max(1e-9, double(milliseconds) / 1000.0 / double(m_request.rounds) / double(count));
    }
    void add(const std::string &kernel, double seconds, std::uint64_t bytes, double operations = 0.0);

    double copyRate();
    void openCublas();
    double halfRate();
    void timeProducts();
    void timeProduct(TensorType type, const char *what, std::int64_t rows, std::int64_t columns);
    void timeRows();
    void timeAttention();
    void timePrefillProduct();
    void timeStatistics();

    DeviceTimesRequest m_request;
    CudaDevice m_device;
    cudaEvent_t m_begin = nullptr;
    cudaEvent_t m_end = nullptr;
    std::optional<Bytes> m_workspace;
    std::unique_ptr<CublasHandle> m_cublas;
    std::string m_cublasProblem;
    Json m_kernels = Json::array();
};

/// Room for rounded rows.
class RoundedRows
{
public:
    RoundedRows(std::int32_t rows, std::int32_t columns)
        : m_high(std::uint64_t(rows) * std::uint64_t(columns))
        , m_low(std::uint64_t(rows) * std::uint64_t(columns))
        , m_scales(std::vector<float>(std::size_t(rows), 1.0F))
        , m_sums(std::vector<std::int32_t>(std::size_t(rows) * std::size_t(columns) / 16, 1))
        , m_rows(rows)
        , m_columns(columns)
    {}
    cuda::QuantizedRows view() const
    {
        return {reinterpret_cast<std::int8_t *>(m_high.data()),
                reinterpret_cast<std::int8_t *>(m_low.data()),
                m_scales.data(),
                m_sums.data(),
                m_rows,
                m_columns};
    }

private:
    Bytes m_high;
    Bytes m_low;
    DeviceValues<float> m_scales;
    DeviceValues<std::int32_t> m_sums;
    std::int32_t m_rows;
    std::int32_t m_columns;
};

void DeviceTimes::add(const std::string &kernel, double seconds, std::uint64_t bytes, double operations)
{
    Json entry = {{"kernel", kernel}, {"microseconds", seconds * 1e6}};
    if (bytes > 0)
        entry["bytes_per_s"] = double(bytes) / seconds;
    if (operations > 0.0)
        entry["operations_per_s"] = operations / seconds;
    m_kernels.push_back(std::move(entry));
}

/// Bytes read and bytes written, a second.
double DeviceTimes::copyRate()
{
    const Bytes from(m_request.copyBytes);
    const Bytes to(m_request.copyBytes);
    const double time = seconds(1, [&](std::int64_t) {
        return cudaMemcpyAsync(to.data(), from.data(), m_request.copyBytes, cudaMemcpyDeviceToDevice,
                               nullptr);
    });
    return 2.0 * double(m_request.copyBytes) / time;
}

void DeviceTimes::openCublas()
{
    const std::uint64_t bytes = cuda::cublasWorkspaceBytes(m_device.major);
    m_workspace.emplace(bytes);
    const auto library = CublasLibrary::open(CublasLibrary::usualFiles());
    if (!library) {
        m_cublasProblem = library.error().text();
        return;
    }
    auto handle = CublasHandle::create(*library, nullptr, m_workspace->data(), bytes);
    if (!handle)
        m_cublasProblem = handle.error().text();
    else
        m_cublas = std::move(*handle);
}

/// Operations a second of one large product of binary16 matrices, summed up in float32.
double DeviceTimes::halfRate()
{
    const std::int32_t n = m_request.matrixSize;
    const std::uint64_t values = std::uint64_t(n) * std::uint64_t(n);
    const Bytes a(2 * values);
    const Bytes b(2 * values);
    const DeviceValues<float> c(values);
    const float one = 1.0F;
    const float zero = 0.0F;
    const double time = seconds(1, [&](std::int64_t) {
        return cuda::cudaErrorOf(m_cublas->calls().gemmEx(
            m_cublas->get(), CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a.data(), CUDA_R_16F, n, b.data(),
            CUDA_R_16F, n, &zero, c.data(), CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    });
    return 2.0 * double(n) * double(values) / time;
}

void DeviceTimes::timeProduct(TensorType type, const char *what, std::int64_t rows, std::int64_t columns)
{
    const std::uint64_t bytes = cuda::deviceWeightBytes(type, rows, columns);
    const std::int64_t copies = std::int64_t(std::max<std::uint64_t>(1, m_request.spreadBytes / bytes));
    const Bytes weights(bytes * std::uint64_t(copies));
    const PaddedRows input(1, int(columns));
    const PaddedRows output(1, int(rows));
    const RoundedRows rounded(1, std::int32_t(columns));
    const bool isRounded = cuda::hasQuantizedProduct(type, columns);
    const double time = seconds(copies, [&](std::int64_t i) {
        const cuda::DeviceProduct product{
            {weights.data() + bytes * std::uint64_t(i), type, rows, columns}, nullptr, output.view()};
        return isRounded ? cuda::multiplyQuantized(&product, 1, rounded.view(), nullptr)
                         : cuda::multiplyExact(&product, 1, input.view(), nullptr);
    });
    add(std::string(isRounded ? "multiplyQuantized " : "multiplyExact ") + traitsOf(type).name + " " + what +
            " " + std::to_string(rows) + " x " + std::to_string(columns),
        time, bytes);
}

void DeviceTimes::timeProducts()
{
    for (const TensorType type : {TensorType::Q4_0, TensorType::Q8_0, TensorType::F16}) {
        timeProduct(type, "query", m_request.embedding, m_request.embedding);
        timeProduct(type, "gate", m_request.feedForward, m_request.embedding);
        timeProduct(type, "down", m_request.embedding, m_request.feedForward);
    }
    for (const TensorType type : {TensorType::Q6_K, TensorType::Q8_0, TensorType::F16})
        timeProduct(type, "head", m_request.vocabulary, m_request.embedding);
}

void DeviceTimes::timeRows()
{
    const PaddedRows row(1, m_request.embedding);
    const PaddedRows addend(1, m_request.embedding);
    const PaddedRows normed(1, m_request.embedding);
    const RoundedRows rounded(1, m_request.embedding);
    const DeviceValues<float> gain(std::vector<float>(std::size_t(m_request.embedding), 1.0F));
    cuda::RowNormParams params;
    params.gain = gain.data();
    add("normRows, add and round",
        seconds(1,
                [&](std::int64_t) {
                    return cuda::normRows(row.view(), addend.view(), params, normed.view(), rounded.view(),
                                          nullptr);
                }),
        0);
    const PaddedRows gate(1, m_request.feedForward);
    const PaddedRows up(1, m_request.feedForward);
    const RoundedRows wide(1, m_request.feedForward);
    add("activateRows, gated and round",
        seconds(1,
                [&](std::int64_t) {
                    return cuda::activateRows(cuda::RowActivation::Silu, gate.view(), up.view(), gate.view(),
                                              wide.view(), nullptr);
                }),
        0);
}

void DeviceTimes::timeAttention()
{
    const std::int32_t headSize = m_request.embedding / m_request.heads;
    cuda::KvLayerView view;
    view.blockTokens = 16;
    view.kvHeads = m_request.kvHeads;
    view.keySize = view.valueSize = headSize;
    view.keyType = view.valueType = cuda::KvElement::F16;
    view.keyRowBytes = view.valueRowBytes = headSize * 2;
    view.keyHeadStride = view.valueHeadStride = view.blockTokens * view.keyRowBytes;
    view.keyBlockStride = view.valueBlockStride = std::int64_t(view.kvHeads) * view.keyHeadStride;
    const std::int32_t blocks = (m_request.context + view.blockTokens - 1) / view.blockTokens;
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(blocks));
    for (std::int32_t i = 0; i < blocks; ++i)
        numbers[std::size_t(i)] = blocks - 1 - i;
    const DeviceValues<std::int32_t> table(numbers);
    view.table = table.data();
    const std::uint64_t planeBytes = std::uint64_t(blocks) * std::uint64_t(view.keyBlockStride);
    const std::int64_t copies =
        std::int64_t(std::max<std::uint64_t>(1, m_request.spreadBytes / (2 * planeBytes)));
    const Bytes planes(2 * planeBytes * std::uint64_t(copies));
    const auto layer = [&](std::int64_t i) {
        cuda::KvLayerView one = view;
        one.keys = planes.data() + 2 * planeBytes * std::uint64_t(i);
        one.values = one.keys + planeBytes;
        return one;
    };

    cuda::AttentionShape shape;
    shape.heads = m_request.heads;
    shape.scale = 0.1F;
    shape.longestContext = m_request.context;
    const PaddedRows query(1, m_request.embedding);
    const PaddedRows output(1, m_request.embedding);
    const DeviceValues<cuda::StepState> last(std::vector<cuda::StepState>{{m_request.context - 1, 1}});
    const Bytes scratch(std::max<std::uint64_t>(1, cuda::attentionScratchBytes(shape, view, 1)));
    add("attendDecode, " + std::to_string(m_request.context) + " positions",
        seconds(copies,
                [&](std::int64_t i) {
                    return cuda::attendDecode(query.view(), layer(i), shape, last.data(), scratch.data(),
                                              output.view(), {}, nullptr);
                }),
        2 * planeBytes);

    const std::int32_t rows = std::min(m_request.promptRows, m_request.context);
    const PaddedRows queries(rows, m_request.embedding);
    const PaddedRows outputs(rows, m_request.embedding);
    const DeviceValues<cuda::StepState> end(std::vector<cuda::StepState>{{m_request.context - rows, rows}});
    const double pairs = double(rows) * (double(m_request.context) - double(rows) / 2.0);
    add("attendPrefill, " + std::to_string(rows) + " rows at the end of " + std::to_string(m_request.context),
        seconds(1,
                [&](std::int64_t) {
                    return cuda::attendPrefill(queries.view(), layer(0), shape,
                                               m_device.hasTensorCores() ? 1 : 0, end.data(), outputs.view(),
                                               nullptr);
                }),
        0, 4.0 * double(m_request.embedding) * pairs);
}

void DeviceTimes::timePrefillProduct()
{
    for (const TensorType type : {TensorType::Q4_0, TensorType::Q8_0, TensorType::F16}) {
        const std::int64_t rows = m_request.feedForward;
        const std::int64_t columns = m_request.embedding;
        const std::uint64_t bytes = cuda::deviceWeightBytes(type, rows, columns);
        const Bytes weights(bytes);
        const cuda::MatrixProductPlan plan =
            cuda::matrixProductPlan(cuda::ProductPrecision::Half, type, rows, columns, m_request.promptRows);
        const Bytes scratch(std::max<std::uint64_t>(1, plan.bytes));
        const PaddedRows input(m_request.promptRows, int(columns));
        const PaddedRows output(m_request.promptRows, int(rows));
        const cuda::DeviceWeight weight{weights.data(), type, rows, columns};
        const double time = seconds(1, [&](std::int64_t) {
            return cuda::multiplyMany(m_cublas->calls(), m_cublas->get(), cuda::ProductPrecision::Half,
                                      weight, input.view(), nullptr, scratch.data(), output.view(), nullptr);
        });
        add(std::string("multiplyMany ") + traitsOf(type).name + " gate, " +
                std::to_string(m_request.promptRows) + " rows",
            time, 0, 2.0 * double(rows) * double(columns) * double(m_request.promptRows));
    }
}

void DeviceTimes::timeStatistics()
{
    constexpr std::int32_t top = 50;
    const PaddedRows logits(randomFloats(std::size_t(m_request.vocabulary), 6.0F, 1), m_request.vocabulary);
    const Bytes scratch(std::max<std::uint64_t>(1, cuda::logitSummaryBytes(1, m_request.vocabulary, top)));
    const DeviceValues<cuda::LogitSummary> summaries(1);
    add("summarizeLogits, " + std::to_string(m_request.vocabulary) + " logits, first " + std::to_string(top),
        seconds(1,
                [&](std::int64_t) {
                    return cuda::summarizeLogits(logits.view(), nullptr, top, scratch.data(),
                                                 summaries.data(), nullptr);
                }),
        0);
}

Json DeviceTimes::run()
{
    Json out = {{"device", m_device.name},
                {"capability", m_device.capability()},
                {"memory_bytes", m_device.totalBytes},
                {"driver", m_device.driver.text()},
                {"runtime", m_device.runtime.text()},
                {"rated_bytes_per_s", m_device.bytesPerSecond},
                {"copy_bytes_per_s", copyRate()}};
    openCublas();
    out["half_operations_per_s"] = m_cublas ? Json(halfRate()) : Json();
    if (!m_cublas)
        out["cublas"] = m_cublasProblem;
    timeProducts();
    timeRows();
    timeAttention();
    if (m_cublas)
        timePrefillProduct();
    timeStatistics();
    out["kernels"] = m_kernels;
    return out;
}

} // namespace

Json measureDevice(const DeviceTimesRequest &request)
{
    const Result<CudaDevice> device = findCudaDevice();
    if (!device)
        throw NoDeviceError(device.error().text());
    demand(cudaSetDevice(device->index));
    return DeviceTimes(request, *device).run();
}

} // namespace tokenloupe::test
