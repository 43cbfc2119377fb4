// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/devicefloats.h"

#include <algorithm>

namespace tokenloupe {

const DeviceFloats::List *DeviceFloats::find(std::span<const float> values) const
{
    for (const List &list : m_lists) {
        if (std::equal(values.begin(), values.end(), list.values.begin(), list.values.end()))
            return &list;
    }
    return nullptr;
}

Result<const float *> DeviceFloats::on(std::span<const float> values)
{
    if (const List *known = find(values))
        return known->memory.as<const float>();
    Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, values.size_bytes(), "constants");
    if (!memory)
        return tl::unexpected(memory.error());
    List list{{values.begin(), values.end()}, std::move(*memory)};
    const cudaError_t sent = cudaMemcpyAsync(list.memory.data(), list.values.data(), values.size_bytes(),
                                             cudaMemcpyHostToDevice, m_queue->stream());
    if (Status good = m_queue->check(sent, "copy constants to the device"); !good)
        return tl::unexpected(good.error());
    m_lists.push_back(std::move(list));
    return m_lists.back().memory.as<const float>();
}

} // namespace tokenloupe
