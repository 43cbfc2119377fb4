// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/cudabackend.h"
#include "tests/cudahost/cudahost.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tokenloupe::test {

using Floats = std::vector<float>;

inline Floats randomFloats(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats values(count);
    for (float &value : values)
        value = normal(random);
    return values;
}

/// The backend on the device that the host plays. Null where that cannot be had, with the reason as a test
/// failure.
inline std::shared_ptr<CudaBackend> hostedBackend(GraphUse graphs = GraphUse::Replay)
{
    const Result<CudaDevice> device = findCudaDevice();
    if (!device) {
        QTest::qFail(device.error().text().c_str(), __FILE__, __LINE__);
        return nullptr;
    }
    Result<std::shared_ptr<CudaBackend>> backend = CudaBackend::create(*device, graphs);
    if (!backend) {
        QTest::qFail(backend.error().text().c_str(), __FILE__, __LINE__);
        return nullptr;
    }
    return std::move(*backend);
}

/// Everything that went wrong on the device since the last call, in one text; empty: nothing.
inline QByteArray deviceFaults()
{
    cudahost::checkMemory();
    QByteArray all;
    for (const std::string &fault : cudahost::takeFaults())
        all += QByteArray::fromStdString(fault) + "\n";
    return all;
}

/// The same rows in the memory of two backends.
class TwinRows
{
public:
    TwinRows(Backend &device, std::int64_t rows, std::int64_t columns, unsigned seed)
        : TwinRows(device, rows, columns, randomFloats(static_cast<std::size_t>(rows * columns), seed))
    {}
    TwinRows(Backend &device, std::int64_t rows, std::int64_t columns, Floats values)
        : host(std::move(values))
        , m_device(device)
        , m_rows(rows)
        , m_columns(columns)
    {
        auto memory = device.allocate(host.size() * sizeof(float), "rows");
        if (!memory) {
            QTest::qFail(memory.error().text().c_str(), __FILE__, __LINE__);
            return;
        }
        m_memory = std::move(*memory);
        cudaMemcpy(m_memory->data(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    }

    Activations onHost() { return {host.data(), m_rows, m_columns}; }
    Activations onDevice() { return {reinterpret_cast<float *>(m_memory->data()), m_rows, m_columns}; }
    Floats fromDevice()
    {
        Floats values(host.size());
        const Status copied = m_device.copyToHost(onDevice().data, values);
        if (!copied)
            QTest::qFail(copied.error().text().c_str(), __FILE__, __LINE__);
        return values;
    }

    Floats host;

private:
    Backend &m_device;
    std::unique_ptr<BackendBuffer> m_memory;
    std::int64_t m_rows;
    std::int64_t m_columns;
};

/// Largest difference as a share of the expected values' root mean square; NaN where there is one.
inline double worstDifference(const Floats &got, const Floats &expected)
{
    if (got.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double squares = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
        const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
        worst = std::isnan(difference) ? difference : std::max(worst, difference);
    }
    return squares > 0 ? worst / std::sqrt(squares / static_cast<double>(expected.size())) : worst;
}

/// Compares what both backends have of some rows.
#define TOKENLOUPE_COMPARE_TWINS(twins, share)                                                               \
    do {                                                                                                     \
        const double worst = tokenloupe::test::worstDifference((twins).fromDevice(), (twins).host);          \
        QVERIFY2(worst <= (share), qPrintable(QStringLiteral("off by %1 of the values").arg(worst)));        \
    } while (false)

#define TOKENLOUPE_NO_DEVICE_FAULTS()                                                                        \
    do {                                                                                                     \
        const QByteArray faults = tokenloupe::test::deviceFaults();                                          \
        QVERIFY2(faults.isEmpty(), faults.constData());                                                      \
    } while (false)

inline Weight weightOf(const Floats &values, std::int64_t rows)
{
    return {TensorType::F32, rows, static_cast<std::int64_t>(values.size()) / rows,
            std::as_bytes(std::span(values))};
}

} // namespace tokenloupe::test
