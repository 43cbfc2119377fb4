// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tokenloupe {

/// Walks over the fields of one protocol-buffer message. Stops at the first byte that makes no sense.
class ProtoReader
{
public:
    explicit ProtoReader(std::string_view bytes)
        : m_rest(bytes)
    {}

    /// False at the end, and where the message is broken.
    bool next()
    {
        if (m_broken || m_rest.empty())
            return false;
        const std::uint64_t tag = varint();
        m_field = static_cast<std::uint32_t>(tag >> 3);
        m_integer = 0;
        m_bytes = {};
        switch (tag & 7U) {
        case 0:
            m_integer = varint();
            break;
        case 1:
            m_bytes = take(8);
            break;
        case 2:
            m_bytes = take(varint());
            break;
        case 5:
            m_bytes = take(4);
            break;
        default:
            m_broken = true;
        }
        if (m_field == 0)
            m_broken = true;
        return !m_broken;
    }

    bool isBroken() const { return m_broken; }
    std::uint32_t field() const { return m_field; }
    std::uint64_t integer() const { return m_integer; }
    bool flag() const { return m_integer != 0; }
    std::string_view bytes() const { return m_bytes; }
    /// Of a field of four bytes; else 0.
    float number() const
    {
        float value = 0;
        if (m_bytes.size() == sizeof value)
            std::memcpy(&value, m_bytes.data(), sizeof value);
        return value;
    }

private:
    std::uint64_t varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::string_view byte = take(1);
            if (byte.empty())
                return 0;
            const auto bits = static_cast<unsigned char>(byte.front());
            value |= static_cast<std::uint64_t>(bits & 0x7FU) << shift;
            if (bits < 0x80)
                return value;
        }
        m_broken = true;
        return 0;
    }
    std::string_view take(std::uint64_t count)
    {
        if (count > m_rest.size()) {
            m_broken = true;
            return {};
        }
        const std::string_view taken = m_rest.substr(0, count);
        m_rest.remove_prefix(count);
        return taken;
    }

    std::string_view m_rest;
    std::string_view m_bytes;
    std::uint64_t m_integer = 0;
    std::uint32_t m_field = 0;
    bool m_broken = false;
};

} // namespace tokenloupe
