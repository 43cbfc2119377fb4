// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace tokenloupe {

/// Copies of weights that a container does not store as the kernels read them. They lie still as long as the
/// object lives.
class WeightCopies
{
public:
    /// The bytes themselves, at an address that vector loads like.
    Result<std::span<const std::byte>> copy(std::span<const std::byte> values);
    /// F16 or BF16 as F32.
    Result<std::span<const std::byte>> widened(std::span<const std::byte> values, TensorType type);
    /// A matrix (rows × columns) of elements of so many bytes as (columns × rows).
    Result<std::span<const std::byte>> transposed(std::span<const std::byte> values, std::size_t rows,
                                                  std::size_t columns, std::size_t elementBytes);
    /// Rows of `groups` groups of queries, keys and values, (`queries` + 2 · `keys`) rows each, as the
    /// queries of all, then the keys, then the values.
    Result<std::span<const std::byte>> ungrouped(std::span<const std::byte> values, std::size_t groups,
                                                 std::size_t queries, std::size_t keys, std::size_t rowBytes);

    std::uint64_t bytes() const { return m_bytes; }

private:
    static constexpr std::align_val_t alignment{64};
    struct Free
    {
        void operator()(std::byte *memory) const { ::operator delete(memory, alignment); }
    };
    Result<std::byte *> take(std::size_t bytes);

    std::vector<std::unique_ptr<std::byte, Free>> m_pieces;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
