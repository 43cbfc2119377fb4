// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <stdexcept>
#include <vector>

namespace cudahost::test {

/// Throws where a call fails that a test takes for granted: Qt Test fails the function with the error's name.
inline void demand(cudaError_t error)
{
    if (error != cudaSuccess)
        throw std::runtime_error(cudaGetErrorName(error));
}

/// Values in device memory. Where the device was lost meanwhile they stay there until it is reset.
template <class T>
class DeviceValues
{
public:
    explicit DeviceValues(std::size_t count)
        : m_count(count)
    {
        demand(cudaMalloc(&m_data, count * sizeof(T)));
    }
    explicit DeviceValues(const std::vector<T> &values)
        : DeviceValues(values.size())
    {
        demand(cudaMemcpy(m_data, values.data(), m_count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceValues() { cudaFree(m_data); }
    DeviceValues(const DeviceValues &) = delete;
    DeviceValues &operator=(const DeviceValues &) = delete;

    T *data() const { return m_data; }
    std::size_t size() const { return m_count; }
    std::vector<T> read() const
    {
        std::vector<T> values(m_count);
        demand(cudaMemcpy(values.data(), m_data, m_count * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

private:
    T *m_data = nullptr;
    std::size_t m_count;
};

} // namespace cudahost::test
