// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/architecturespec.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// Which experts each token of a batch takes, and the same turned round: which tokens each expert gets.
/// A token's own choice depends on nothing but its own probabilities.
class ExpertRoutes
{
public:
    struct Choice
    {
        std::uint32_t expert = 0;
        float weight = 0.0F;
        std::uint32_t place = 0; ///< of this token among the rows ordered by expert
    };

    /// `probabilities`: (tokens × experts). The `used` (≤ experts) largest are taken, of equal ones those
    /// with the lower number.
    void choose(std::span<const float> probabilities, std::uint32_t experts, std::uint32_t used,
                ExpertWeighting weighting);

    std::uint32_t tokens() const { return static_cast<std::uint32_t>(m_choices.size()) / m_used; }
    /// In the order of the experts' numbers.
    std::span<const Choice> of(std::uint32_t token) const
    {
        return std::span(m_choices).subspan(std::size_t(token) * m_used, m_used);
    }
    /// Rows ordered by expert: those of `expert` are [begin(expert), begin(expert + 1)).
    std::uint32_t begin(std::uint32_t expert) const { return m_begins[expert]; }
    std::uint32_t tokenAt(std::uint32_t place) const { return m_tokens[place]; }

private:
    void chooseFor(std::span<const float> probabilities, ExpertWeighting weighting,
                   std::span<Choice> choices);

    std::uint32_t m_used = 1;
    std::vector<Choice> m_choices;       // (tokens × used)
    std::vector<std::uint32_t> m_begins; // (experts + 1)
    std::vector<std::uint32_t> m_tokens; // by place
    std::vector<char> m_taken;           // by expert
};

} // namespace tokenloupe
