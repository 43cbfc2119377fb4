// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tokenloupe {

/// Writes the fields of one protocol-buffer message, in the order called.
class ProtoWriter
{
public:
    void integer(std::uint32_t field, std::uint64_t value)
    {
        tag(field, Wire::Varint);
        varint(value);
    }
    void number(std::uint32_t field, float value)
    {
        tag(field, Wire::Fixed32);
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8)
            m_bytes += static_cast<char>(bits >> shift);
    }
    void bytes(std::uint32_t field, std::string_view value)
    {
        tag(field, Wire::Length);
        varint(value.size());
        m_bytes += value;
    }
    void message(std::uint32_t field, const ProtoWriter &fields) { bytes(field, fields.m_bytes); }

    std::string take() { return std::move(m_bytes); }

private:
    enum class Wire : std::uint32_t { Varint = 0, Length = 2, Fixed32 = 5 };

    void tag(std::uint32_t field, Wire wire) { varint((field << 3) | static_cast<std::uint32_t>(wire)); }
    void varint(std::uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            m_bytes += static_cast<char>(value | 0x80);
        m_bytes += static_cast<char>(value);
    }

    std::string m_bytes;
};

} // namespace tokenloupe
