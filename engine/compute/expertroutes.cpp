// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/expertroutes.h"

#include <algorithm>

namespace tokenloupe {

void ExpertRoutes::choose(std::span<const float> probabilities, std::uint32_t experts, std::uint32_t used,
                          ExpertWeighting weighting)
{
    const std::size_t tokens = probabilities.size() / experts;
    m_used = used;
    m_choices.resize(tokens * used);
    m_taken.assign(experts, 0);
    m_begins.assign(experts + std::size_t(1), 0);
    for (std::size_t token = 0; token < tokens; ++token) {
        const std::span<Choice> choices = std::span(m_choices).subspan(token * used, used);
        chooseFor(probabilities.subspan(token * experts, experts), weighting, choices);
        for (const Choice &choice : choices)
            ++m_begins[choice.expert + std::size_t(1)];
    }
    for (std::size_t expert = 0; expert < experts; ++expert)
        m_begins[expert + 1] += m_begins[expert];

    std::vector<std::uint32_t> next(m_begins.begin(), m_begins.end() - 1);
    m_tokens.resize(tokens * used);
    for (std::size_t i = 0; i < m_choices.size(); ++i) {
        m_choices[i].place = next[m_choices[i].expert]++;
        m_tokens[m_choices[i].place] = static_cast<std::uint32_t>(i / used);
    }
}

void ExpertRoutes::chooseFor(std::span<const float> probabilities, ExpertWeighting weighting,
                             std::span<Choice> choices)
{
    const auto experts = static_cast<std::uint32_t>(probabilities.size());
    for (Choice &choice : choices) {
        choice.expert =
            static_cast<std::uint32_t>(std::find(m_taken.begin(), m_taken.end(), 0) - m_taken.begin());
        for (std::uint32_t expert = choice.expert + 1; expert < experts; ++expert) {
            if (!m_taken[expert] && probabilities[expert] > probabilities[choice.expert])
                choice.expert = expert;
        }
        m_taken[choice.expert] = 1;
    }
    std::sort(choices.begin(), choices.end(),
              [](const Choice &a, const Choice &b) { return a.expert < b.expert; });
    float sum = 0.0F;
    for (Choice &choice : choices) {
        m_taken[choice.expert] = 0;
        choice.weight = probabilities[choice.expert];
        sum += choice.weight;
    }
    if (weighting == ExpertWeighting::OfChosen) {
        for (Choice &choice : choices)
            choice.weight /= sum;
    }
}

} // namespace tokenloupe
