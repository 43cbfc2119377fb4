// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

namespace tokenloupe {

/// A regular file mapped read-only. Folders, devices and pipes are refused with a clear message.
class MappedFile
{
public:
    static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path &path);
    ~MappedFile();
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;

    std::span<const std::byte> bytes() const { return {m_data, m_size}; }
    bool holds(std::span<const std::byte> range) const
    {
        const std::less_equal<> upTo;
        return upTo(m_data, range.data()) && upTo(range.data() + range.size(), m_data + m_size);
    }
    /// Lets the system take back the whole pages of a part of bytes(): it counts no longer as this process's
    /// memory. Reading it again is fine and brings it back. Does nothing with memory that is not its own.
    void releasePages(std::span<const std::byte> range) const;

private:
    MappedFile(const std::byte *data, std::size_t size)
        : m_data(data)
        , m_size(size)
    {}
    const std::byte *m_data = nullptr;
    std::size_t m_size = 0;
};

/// Brings the pages of a mapped range into memory, so that later reads do not wait for the disk. Ranges that
/// are no mapping are fine. IoError when the disk fails or the file has shrunk meanwhile.
Status readAhead(std::span<const std::byte> range);

} // namespace tokenloupe
