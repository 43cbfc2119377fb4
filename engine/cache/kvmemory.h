// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tokenloupe {

/// The bytes of one pool of blocks, wherever they lie: the host's memory or a device's. Freed with the
/// object. Zero at first. Engine thread only.
class KvMemory
{
public:
    enum class Reader : std::uint8_t {
        Host,   ///< data() can be read and written in place
        Device, ///< data() is an address of the device; only its operations follow it
    };

    virtual ~KvMemory() = default;

    virtual Reader reader() const = 0;
    virtual std::byte *data() const = 0;
    virtual std::uint64_t bytes() const = 0;
    /// After all that was asked of this memory before. A device that fails says so at its next operation.
    virtual void copyWithin(std::uint64_t from, std::uint64_t to, std::uint64_t count) = 0;
    /// All of it takes room from now on. Contents stay.
    virtual void commit() = 0;
};

/// Gives the memory of one pool; OutOfMemory names the bytes wanted.
using KvAllocator = std::function<Result<std::unique_ptr<KvMemory>>(std::uint64_t bytes)>;

/// The host's: reserved at once, resident only where it was written to.
Result<std::unique_ptr<KvMemory>> hostKvMemory(std::uint64_t bytes);

} // namespace tokenloupe
