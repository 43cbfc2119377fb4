// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/scoring.h"

#include "engine/sampling/samplerchain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tokenloupe::cli {

namespace {

double mean(const std::vector<double> &values)
{
    if (values.empty())
        return 0.0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

double Scores::meanNll() const
{
    return mean(nll);
}

Scorer::Scorer(std::vector<TokenId> ids, std::uint32_t top, std::shared_ptr<const LogitStore> reference)
    : m_top(top)
    , m_reference(std::move(reference))
{
    m_scores.ids = std::move(ids);
}

void Scorer::take(std::uint32_t position, std::span<const float> row)
{
    if (m_error)
        return;
    if (Status added = add(position, row); !added)
        m_error = added.error();
}

Status Scorer::add(std::uint32_t position, std::span<const float> row)
{
    const auto statistics = logitStatistics(row);
    if (!statistics)
        return makeError(statistics.error().code, "position " + std::to_string(position),
                         statistics.error().text());
    m_scores.logSumExp.push_back(statistics->logSumExp);
    m_scores.argmax.push_back(statistics->argmax);
    if (std::size_t(position) + 1 < m_scores.ids.size())
        m_scores.nll.push_back(statistics->logSumExp -
                               static_cast<double>(row[m_scores.ids[std::size_t(position) + 1].value()]));
    if (m_top > 0) {
        m_order.clear();
        for (std::size_t i = 0; i < row.size(); ++i)
            m_order.push_back(
                {TokenId(static_cast<std::uint32_t>(i)), std::isnan(row[i]) ? -HUGE_VALF : row[i]});
        const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(m_top, m_order.size()));
        std::partial_sort(m_order.begin(), m_order.begin() + count, m_order.end(),
                          [](const Candidate &a, const Candidate &b) {
                              return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
                          });
        m_scores.top.emplace_back(m_order.begin(), m_order.begin() + count);
    }
    return m_reference ? compare(position, row) : Status();
}

Status Scorer::compare(std::uint32_t position, std::span<const float> row)
{
    const LogitStore::Row other = m_reference->get({RunId(0), StepIndex(position)});
    if (!other || other->size() != row.size())
        return makeError(ErrorCode::IoError, "position " + std::to_string(position),
                         "the other run's logits could not be kept (no room for the temporary file)");
    const auto divergence = divergenceOf(*other, row);
    if (!divergence)
        return makeError(divergence.error().code, "--against, position " + std::to_string(position),
                         divergence.error().text());
    m_scores.kl.push_back(divergence->kl);
    m_scores.against.add(*divergence);
    return {};
}

Result<Scores> Scorer::finish()
{
    if (m_error)
        return tl::unexpected(*m_error);
    return std::move(m_scores);
}

} // namespace tokenloupe::cli
