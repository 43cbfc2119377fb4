// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/sharedblock.h"

#include "tests/cudahost/guard.h"

namespace cudahost {

namespace {
constexpr std::size_t guardBytes = 1024; // on each side
}

SharedBlock::~SharedBlock()
{
    removeGuard(m_room.data(), m_room.size());
}

void SharedBlock::resize(std::size_t bytes)
{
    if (!m_room.empty() && bytes == m_bytes)
        return;
    removeGuard(m_room.data(), m_room.size());
    m_bytes = bytes;
    if (m_room.size() < bytes + 2 * guardBytes + 32)
        m_room.resize(bytes + 2 * guardBytes + 32);
    // Aligned to 16 bytes, as promised, and to no more.
    const auto lowest = reinterpret_cast<std::uintptr_t>(m_room.data()) + guardBytes;
    m_begin = guardBytes + (16 - lowest % 32 + 32) % 32;
    protect();
}

void SharedBlock::protect()
{
    setGuard(m_room.data() + m_begin - guardBytes, guardBytes);
    setGuard(m_room.data() + m_begin + m_bytes, guardBytes);
}

void SharedBlock::fill()
{
    fillUndefined(data(), m_bytes);
}

bool SharedBlock::isIntact()
{
    const bool below = intactGuard(data() - guardBytes, guardBytes) == guardBytes;
    const bool above = intactGuard(data() + m_bytes, guardBytes) == guardBytes;
    if (below && above)
        return true;
    protect();
    return false;
}

} // namespace cudahost
