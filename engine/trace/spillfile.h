// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/trace/logitstore.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// An unlinked temporary file of float rows: it has no name, so nothing is left behind however the program
/// ends. Created at the first write. Not thread-safe.
class SpillFile
{
public:
    struct Extent
    {
        std::uint64_t offset = 0; ///< bytes
        std::uint64_t bytes = 0;
    };

    explicit SpillFile(SpillSettings settings);
    ~SpillFile();
    SpillFile(const SpillFile &) = delete;
    SpillFile &operator=(const SpillFile &) = delete;

    Result<Extent> write(std::span<const float> row);
    Status read(const Extent &extent, std::span<float> row) const;
    /// The place may be used again. The file shrinks to nothing once nothing is in it.
    void release(const Extent &extent);
    std::uint64_t usedBytes() const { return m_used; }

private:
    Status open();
    Extent place(std::uint64_t bytes);

    SpillSettings m_settings;
    int m_descriptor = -1;
    bool m_unavailable = false; ///< creating it failed once: not tried again at every token
    std::uint64_t m_end = 0;    ///< bytes
    std::uint64_t m_used = 0;
    std::multimap<std::uint64_t, std::uint64_t>
        m_free; ///< size -> offset; rows of one model all have one size
};

} // namespace tokenloupe
