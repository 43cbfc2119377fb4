// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/devicememory.h"

#include <memory>
#include <span>
#include <vector>

namespace tokenloupe {

/// Short constant lists of the host (frequencies, slopes) on the device, each once. They stay where they are
/// until all are forgotten.
class DeviceFloats
{
public:
    explicit DeviceFloats(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}

    bool holds(std::span<const float> values) const { return find(values) != nullptr; }
    bool isFull() const { return m_lists.size() >= mostLists; }
    Result<const float *> on(std::span<const float> values);
    void forget() { m_lists.clear(); }

private:
    static constexpr std::size_t mostLists = 32;

    struct List
    {
        std::vector<float> values;
        DeviceMemory memory;
    };

    const List *find(std::span<const float> values) const;

    std::shared_ptr<CudaQueue> m_queue;
    std::vector<List> m_lists;
};

} // namespace tokenloupe
