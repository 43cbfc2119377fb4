// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/compute/cuda/cudaqueue.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace tokenloupe {

/// A piece of a device's memory. Freed with the object.
class DeviceMemory
{
public:
    DeviceMemory() = default; ///< none
    /// OutOfMemory says how much was wanted for `what` and how much is free.
    static Result<DeviceMemory> allocate(const std::shared_ptr<CudaQueue> &queue, std::uint64_t bytes,
                                         std::string_view what);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
    DeviceMemory &operator=(DeviceMemory &&other) noexcept
    {
        swap(other);
        return *this;
    }

    std::byte *data() const { return m_data; }
    template <class T>
    T *as() const
    {
        return reinterpret_cast<T *>(m_data);
    }
    std::uint64_t bytes() const { return m_bytes; }

private:
    void swap(DeviceMemory &other) noexcept
    {
        std::swap(m_queue, other.m_queue);
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
    }

    std::shared_ptr<CudaQueue> m_queue; // the stream goes after the memory
    std::byte *m_data = nullptr;
    std::uint64_t m_bytes = 0;
};

/// Memory of the host that a device copies from and to by itself.
class PinnedMemory
{
public:
    PinnedMemory() = default;
    static Result<PinnedMemory> allocate(CudaQueue &queue, std::uint64_t bytes, std::string_view what);
    ~PinnedMemory();
    PinnedMemory(PinnedMemory &&other) noexcept { swap(other); }
    PinnedMemory &operator=(PinnedMemory &&other) noexcept
    {
        swap(other);
        return *this;
    }

    std::byte *data() const { return m_data; }
    std::uint64_t bytes() const { return m_bytes; }

private:
    void swap(PinnedMemory &other) noexcept
    {
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
    }

    std::byte *m_data = nullptr;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
