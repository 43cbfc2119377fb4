// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/rowmemory.h"

#include "engine/trace/rowpages.h"

namespace tokenloupe {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t page = 4096;
constexpr std::size_t largePage = std::size_t(2) << 20;
constexpr std::size_t rowsTogether = 10;

std::size_t roundedUp(std::size_t bytes, std::size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

} // namespace

std::shared_ptr<float[]> RowMemory::take(std::size_t floats)
{
    const std::size_t bytes = roundedUp(floats * sizeof(float), line);
    if (!m_stretch || m_bytes - m_used < bytes) {
        const std::size_t wanted = rowsTogether * bytes;
        m_bytes = roundedUp(wanted, wanted > largePage / 2 ? largePage : page);
        m_used = 0;
        m_stretch = RowPages::shared().take(m_bytes);
        if (!m_stretch)
            return nullptr;
    }
    auto *row = reinterpret_cast<float *>(m_stretch.get() + m_used);
    m_used += bytes;
    return {m_stretch, row};
}

} // namespace tokenloupe
