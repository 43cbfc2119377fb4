// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stagemeter.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t few = 4096;

} // namespace

StageMeter::StageMeter(std::span<const float> logits, const SoftmaxWeights &weights)
    : m_row(logits)
    , m_weights(weights)
    , m_alive(logits.size())
{}

StageMeter::StageMeter(std::span<const float> logits)
    : StageMeter(logits, softmaxSums(logits))
{}

float StageMeter::logit(TokenId id) const
{
    if (!m_row.empty())
        return m_row[id.value()];
    const auto at = std::lower_bound(m_list.begin(), m_list.end(), id,
                                     [](const Candidate &item, TokenId wanted) { return item.id < wanted; });
    return at != m_list.end() && at->id == id ? at->logit : minusInfinity;
}

StageMeasure StageMeter::measure(const CandidateSet &after)
{
    StageMeasure result;
    result.candidates = static_cast<std::uint32_t>(after.size());
    if (after.size() < m_alive) {
        double held = 0.0;
        after.forEach([&](const Candidate &item) { held += m_weights.weightOf(logit(item.id)); });
        result.mass = std::min(1.0, held / m_weights.sumExp);
    }

    if (after.size() <= few) {
        m_list.clear();
        after.forEach([this](const Candidate &item) { m_list.push_back(item); });
        std::sort(m_list.begin(), m_list.end(),
                  [](const Candidate &a, const Candidate &b) { return a.id < b.id; });
        m_row = {};
    } else {
        m_own.resize(after.vocabulary());
        std::fill(m_own.data(), m_own.data() + m_own.size(), minusInfinity);
        after.forEach([this](const Candidate &item) { m_own[item.id.value()] = item.logit; });
        m_row = m_own.span();
    }
    m_alive = after.size();
    const SoftmaxSums sums = after.sums();
    m_weights = sums;
    result.entropyBits = sums.entropyBits();
    return result;
}

} // namespace tokenloupe
