// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidateset.h"

#include "engine/sampling/logitscan.h"
#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

bool idLess(const Candidate &candidate, TokenId id)
{
    return candidate.id < id;
}

} // namespace

Result<CandidateSet> CandidateSet::of(std::span<const float> logits)
{
    CandidateSet set;
    set.m_vocabulary = logits.size();
    set.m_dense = logits;
    const LogitFlaw flaw = findFlaw(logits);
    if (flaw == LogitFlaw::PositiveInfinity)
        return makeError(ErrorCode::InvalidLogits, "sample", "a logit is +inf");
    if (flaw == LogitFlaw::NotANumber) {
        set.ownDense();
        for (float &logit : set.m_own) {
            if (std::isnan(logit))
                logit = minusInfinity;
        }
    }
    if (const Status status = set.check(); !status)
        return tl::unexpected<Error>(status.error());
    return set;
}

Status CandidateSet::check() const
{
    if (size() == 0 || maximum() == minusInfinity)
        return makeError(ErrorCode::InvalidLogits, "sample", "no finite logit to sample from");
    return {};
}

SoftmaxSums CandidateSet::sums() const
{
    return m_dense.empty() ? softmaxSums(std::span<const Candidate>(m_list.items)) : softmaxSums(m_dense);
}

float CandidateSet::maximum() const
{
    if (!m_dense.empty())
        return cpuKernels().maximum(m_dense.data(), static_cast<std::int64_t>(m_dense.size()));
    if (m_list.order == CandidateOrder::DescendingLogit)
        return m_list.items.front().logit;
    float result = minusInfinity;
    for (const Candidate &item : m_list.items)
        result = std::max(result, item.logit);
    return result;
}

Candidate CandidateSet::best() const
{
    if (!m_dense.empty()) {
        const float largest = maximum();
        return {TokenId(static_cast<std::uint32_t>(firstEqual(m_dense, largest))), largest};
    }
    return *std::min_element(m_list.items.begin(), m_list.items.end(), comesBefore);
}

std::vector<Candidate> CandidateSet::top(std::size_t count) const
{
    count = std::min(count, size());
    if (!m_dense.empty())
        return selectTop(m_dense, count);
    const auto &items = m_list.items;
    if (m_list.order == CandidateOrder::DescendingLogit)
        return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)};
    return selectTop(items, count);
}

std::span<const Candidate> CandidateSet::descending() const
{
    if (m_dense.empty() && m_list.order == CandidateOrder::DescendingLogit)
        return m_list.items;
    return {};
}

void CandidateSet::copyTo(Candidates &out) const
{
    if (m_dense.empty())
        out = m_list;
    else
        out.assign(m_dense);
}

void CandidateSet::keep(std::vector<Candidate> items)
{
    m_dense = {};
    m_own.clear();
    m_list.items = std::move(items);
    m_list.order = CandidateOrder::DescendingLogit;
    m_idOrder = IdOrder::Any;
}

void CandidateSet::keepAtLeast(double threshold)
{
    if (m_dense.empty()) {
        std::erase_if(m_list.items, [threshold](const Candidate &c) { return !(c.logit >= threshold); });
        return;
    }
    m_list.items = selectAtLeast(m_dense, threshold);
    m_list.order = CandidateOrder::Unsorted;
    m_idOrder = IdOrder::Rising;
    m_dense = {};
    m_own.clear();
}

void CandidateSet::ownDense()
{
    if (!m_own.empty())
        return;
    m_own.assign(m_dense.begin(), m_dense.end());
    m_dense = m_own;
}

void CandidateSet::becomeList()
{
    m_list.assign(m_dense);
    m_idOrder = IdOrder::Rising;
    m_dense = {};
    m_own.clear();
}

std::vector<LogitEdit> CandidateSet::alive(std::span<const TokenId> ids) const
{
    std::vector<LogitEdit> found;
    found.reserve(ids.size());
    if (!m_dense.empty()) {
        for (const TokenId id : ids)
            found.push_back({id, m_dense[id.value()]});
    } else if (m_idOrder == IdOrder::Rising) {
        for (const TokenId id : ids) {
            const auto at = std::lower_bound(m_list.items.begin(), m_list.items.end(), id, idLess);
            if (at != m_list.items.end() && at->id == id)
                found.push_back({id, at->logit});
        }
    } else {
        for (const Candidate &item : m_list.items) {
            if (std::binary_search(ids.begin(), ids.end(), item.id))
                found.push_back({item.id, item.logit});
        }
        std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
    }
    return found;
}

void CandidateSet::apply(std::span<const LogitEdit> edits)
{
    if (edits.empty())
        return;
    const auto removed = [this](const LogitEdit &entry) {
        return entry.logit == minusInfinity && logitOf(entry.id) != minusInfinity;
    };
    if (!m_dense.empty() && std::any_of(edits.begin(), edits.end(), removed))
        becomeList();
    if (!m_dense.empty()) {
        ownDense();
        for (const LogitEdit &entry : edits)
            m_own[entry.id.value()] = entry.logit;
        return;
    }

    const auto update = [](Candidate &item, const LogitEdit &entry) {
        // A token that the model itself gave -inf stays in the list; one that is banned now leaves it.
        const bool banned = entry.logit == minusInfinity && item.logit != minusInfinity;
        item.logit = entry.logit;
        if (banned)
            item.id = TokenId();
    };
    if (m_idOrder == IdOrder::Rising) {
        // In falling order: an id that was cleared would break the search for those behind it.
        for (auto entry = edits.rbegin(); entry != edits.rend(); ++entry)
            update(*std::lower_bound(m_list.items.begin(), m_list.items.end(), entry->id, idLess), *entry);
    } else {
        for (Candidate &item : m_list.items) {
            const auto entry = std::lower_bound(edits.begin(), edits.end(), item.id,
                                                [](const LogitEdit &a, TokenId id) { return a.id < id; });
            if (entry != edits.end() && entry->id == item.id)
                update(item, *entry);
        }
    }
    std::erase_if(m_list.items, [](const Candidate &item) { return !item.id.isValid(); });
    m_list.order = CandidateOrder::Unsorted;
}

float CandidateSet::logitOf(TokenId id) const
{
    return m_dense[id.value()];
}

void CandidateSet::divideBy(float divisor)
{
    if (!m_dense.empty()) {
        // A copy in the same pass where the logits are still the borrowed ones.
        m_own.resize(m_dense.size());
        divideAll(m_dense, divisor, m_own);
        m_dense = m_own;
        return;
    }
    for (Candidate &item : m_list.items)
        item.logit /= divisor;
    // Different logits may have become equal; a stable order would have to look at ids again.
    if (!std::is_sorted(m_list.items.begin(), m_list.items.end(), comesBefore))
        m_list.order = CandidateOrder::Unsorted;
}

void CandidateSet::subtract(double value)
{
    const auto shifted = [value](float logit) {
        return static_cast<float>(static_cast<double>(logit) - value);
    };
    if (!m_dense.empty()) {
        ownDense();
        std::transform(m_own.begin(), m_own.end(), m_own.begin(), shifted);
        return;
    }
    for (Candidate &item : m_list.items)
        item.logit = shifted(item.logit);
    if (!std::is_sorted(m_list.items.begin(), m_list.items.end(), comesBefore))
        m_list.order = CandidateOrder::Unsorted;
}

DescendingWalk::DescendingWalk(const CandidateSet &set)
    : m_set(set)
    , m_view(set.descending())
{}

const Candidate *DescendingWalk::next()
{
    if (m_next == m_view.size()) {
        if (m_view.size() == m_set.size())
            return nullptr;
        constexpr std::size_t firstChunk = 64;
        constexpr std::size_t growth = 8;
        m_sorted = m_set.top(std::max(firstChunk, growth * m_view.size()));
        m_view = m_sorted;
    }
    return &m_view[m_next++];
}

std::vector<Candidate> DescendingWalk::prefix(std::size_t count) const
{
    return {m_view.begin(), m_view.begin() + static_cast<std::ptrdiff_t>(count)};
}

} // namespace tokenloupe
