// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace tokenloupe {

static_assert(std::endian::native == std::endian::little, "GGUF numbers are read as they lie in memory");

/// Reads little-endian numbers and counted strings from bytes, never beyond them. A read that does not fit
/// returns nothing and leaves the position where it was.
class ByteCursor
{
public:
    explicit ByteCursor(std::span<const std::byte> bytes)
        : m_bytes(bytes)
    {}

    std::uint64_t position() const { return m_position; }
    std::uint64_t remaining() const { return m_bytes.size() - m_position; }

    std::optional<std::span<const std::byte>> take(std::uint64_t count)
    {
        if (count > remaining())
            return std::nullopt;
        const auto taken = m_bytes.subspan(m_position, static_cast<std::size_t>(count));
        m_position += static_cast<std::size_t>(count);
        return taken;
    }

    template <class T>
    std::optional<T> number()
    {
        const auto bytes = take(sizeof(T));
        if (!bytes)
            return std::nullopt;
        T value;
        std::memcpy(&value, bytes->data(), sizeof(T));
        return value;
    }

    /// 64-bit length, then as many bytes.
    std::optional<std::string_view> string()
    {
        const std::size_t start = m_position;
        if (const auto length = number<std::uint64_t>()) {
            if (const auto bytes = take(*length))
                return std::string_view(reinterpret_cast<const char *>(bytes->data()), bytes->size());
        }
        m_position = start;
        return std::nullopt;
    }

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
};

} // namespace tokenloupe
