// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace tokenloupe {

/// An integer that only compares and converts with itself, so that a layer cannot be passed as a token.
/// The default value is `invalid`, the largest number of the type.
template <class Tag, class Rep = std::uint32_t>
class StrongIndex
{
public:
    using Value = Rep;
    static constexpr Rep invalidValue = std::numeric_limits<Rep>::max();

    constexpr StrongIndex() = default;
    constexpr explicit StrongIndex(Rep value)
        : m_value(value)
    {}

    constexpr Rep value() const { return m_value; }
    constexpr bool isValid() const { return m_value != invalidValue; }
    constexpr StrongIndex next() const { return StrongIndex(m_value + 1); }

    constexpr auto operator<=>(const StrongIndex &) const = default;

private:
    Rep m_value = invalidValue;
};

using TokenId = StrongIndex<struct TokenIdTag>;       ///< row of the vocabulary
using StepIndex = StrongIndex<struct StepIndexTag>;   ///< drawn token within one run, from 0
using RunId = StrongIndex<struct RunIdTag>;           ///< one reply: a prefill and the steps after it
using LayerIndex = StrongIndex<struct LayerIndexTag>; ///< transformer block, from 0
using SequenceId = StrongIndex<struct SequenceIdTag>; ///< sequence in the KV cache
using BlockId = StrongIndex<struct BlockIdTag>;       ///< block of the KV pool

/// A step of a run: what "selected" means everywhere.
struct StepRef
{
    RunId run;
    StepIndex step;

    constexpr bool isValid() const { return run.isValid() && step.isValid(); }
    constexpr auto operator<=>(const StepRef &) const = default;
};

} // namespace tokenloupe

template <class Tag, class Rep>
struct std::hash<tokenloupe::StrongIndex<Tag, Rep>>
{
    std::size_t operator()(tokenloupe::StrongIndex<Tag, Rep> index) const noexcept
    {
        return std::hash<Rep>()(index.value());
    }
};
