// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tokenloupe {

/// Stretches of pages for rows of logits. What is given up is kept for the next who asks for as much: a page
/// that is new to the process has to be found and cleared by the system, and on a virtual machine by its host
/// too, which takes several times as long as writing a row to it. Thread-safe; stretches may outlive it.
class RowPages
{
public:
    explicit RowPages(std::uint64_t mostUnusedBytes);
    ~RowPages();

    /// `bytes`: whole pages. Contents are undefined. Null when there is no memory.
    std::shared_ptr<std::byte> take(std::size_t bytes);
    std::uint64_t unusedBytes() const; ///< kept for later

    /// The program's own.
    static RowPages &shared();

private:
    struct Unused;
    std::shared_ptr<Unused> m_unused; // stretches hold it too
};

} // namespace tokenloupe
