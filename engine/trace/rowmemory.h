// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tokenloupe {

/// Memory for rows of logits, a few rows at a time: asking the system for each row alone would take several
/// times as long as copying it. A stretch of memory goes back when the last of its rows is gone. Not
/// thread-safe; the rows may be given up on any thread.
class RowMemory
{
public:
    /// Null when there is no memory.
    std::shared_ptr<float[]> take(std::size_t floats);

private:
    std::shared_ptr<std::byte> m_stretch;
    std::size_t m_bytes = 0; ///< of m_stretch
    std::size_t m_used = 0;
};

} // namespace tokenloupe
