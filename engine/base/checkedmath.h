// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <limits>

namespace tokenloupe {

/// A sum of products of sizes that notices when it leaves 63 bits (what an offset or a ptrdiff_t can hold)
/// and stays invalid from then on. For every size that comes from a file or a setting.
class CheckedSize
{
public:
    static constexpr std::uint64_t limit =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

    constexpr CheckedSize() = default;
    constexpr explicit CheckedSize(std::uint64_t value)
        : m_value(value)
        , m_valid(value <= limit)
    {}

    constexpr bool isValid() const { return m_valid; }
    /// The number; `limit` when it does not fit.
    constexpr std::uint64_t value() const { return m_valid ? m_value : limit; }

    constexpr CheckedSize &operator*=(CheckedSize other)
    {
        std::uint64_t product = 0;
        const bool wrapped = __builtin_mul_overflow(m_value, other.m_value, &product);
        m_valid = m_valid && other.m_valid && !wrapped && product <= limit;
        m_value = product;
        return *this;
    }
    constexpr CheckedSize &operator+=(CheckedSize other)
    {
        std::uint64_t sum = 0;
        const bool wrapped = __builtin_add_overflow(m_value, other.m_value, &sum);
        m_valid = m_valid && other.m_valid && !wrapped && sum <= limit;
        m_value = sum;
        return *this;
    }
    friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) { return a *= b; }
    friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) { return a += b; }
    friend constexpr CheckedSize operator*(CheckedSize a, std::uint64_t b) { return a *= CheckedSize(b); }
    friend constexpr CheckedSize operator+(CheckedSize a, std::uint64_t b) { return a += CheckedSize(b); }

    /// Up to the next multiple of `step` (> 0).
    constexpr CheckedSize roundedUp(std::uint64_t step) const
    {
        CheckedSize up = *this + (step - 1);
        up.m_value = up.m_value / step * step;
        return up;
    }

private:
    std::uint64_t m_value = 0;
    bool m_valid = true;
};

} // namespace tokenloupe
