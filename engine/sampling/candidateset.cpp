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
    if (!m_dense.empty()) {
        // The banned ones are among the last; room for them, so that `count` others are found.
        std::vector<Candidate> items = selectTop(m_dense, count + m_banned.size());
        dropBanned(items);
        items.resize(count);
        return items;
    }
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
    if (m_dense.empty()) {
        out = m_list;
        return;
    }
    out.assign(m_dense);
    dropBanned(out.items);
}

void CandidateSet::setList(std::vector<Candidate> items, CandidateOrder order)
{
    m_list.items = std::move(items);
    m_list.order = order;
    m_dense = {};
    m_own.clear();
    m_banned.clear();
}

void CandidateSet::keep(std::vector<Candidate> items)
{
    setList(std::move(items), CandidateOrder::DescendingLogit);
    m_idOrder = IdOrder::Any;
}

void CandidateSet::keepAtLeast(double threshold)
{
    if (m_dense.empty()) {
        std::erase_if(m_list.items, [threshold](const Candidate &c) { return !(c.logit >= threshold); });
        return;
    }
    std::vector<Candidate> items = selectAtLeast(m_dense, threshold);
    dropBanned(items);
    setList(std::move(items), CandidateOrder::Unsorted);
    m_idOrder = IdOrder::Rising;
}

bool CandidateSet::isBanned(TokenId id) const
{
    return std::binary_search(m_banned.begin(), m_banned.end(), id);
}

void CandidateSet::dropBanned(std::vector<Candidate> &items) const
{
    if (!m_banned.empty())
        std::erase_if(items,
                      [this](const Candidate &c) { return c.logit == minusInfinity && isBanned(c.id); });
}

void CandidateSet::ownDense()
{
    if (!m_own.empty())
        return;
    m_own.assign(m_dense.begin(), m_dense.end());
    m_dense = m_own;
}

std::vector<LogitEdit> CandidateSet::alive(std::span<const TokenId> ids) const
{
    std::vector<LogitEdit> found;
    found.reserve(ids.size());
    if (!m_dense.empty()) {
        for (const TokenId id : ids) {
            if (!isBanned(id))
                found.push_back({id, m_dense[id.value()]});
        }
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
    if (!m_dense.empty()) {
        ownDense();
        const std::size_t before = m_banned.size();
        for (const LogitEdit &entry : edits) {
            float &logit = m_own[entry.id.value()];
            // A token that the model itself gave -inf stays in the set; one that gets it now leaves.
            if (entry.logit == minusInfinity && logit != minusInfinity)
                m_banned.push_back(entry.id);
            logit = entry.logit;
        }
        std::inplace_merge(m_banned.begin(), m_banned.begin() + static_cast<std::ptrdiff_t>(before),
                           m_banned.end());
        return;
    }

    const auto update = [](Candidate &item, const LogitEdit &entry) {
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
        // Mostly the first chunk is enough; who goes beyond the second is likely to need a good part of them
        // all.
        constexpr std::size_t firstChunk = 64;
        constexpr std::size_t secondChunk = 1024;
        m_sorted = m_set.top(m_view.empty()                ? firstChunk
                             : m_view.size() < secondChunk ? secondChunk
                                                           : m_set.size());
        m_view = m_sorted;
    }
    return &m_view[m_next++];
}

std::vector<Candidate> DescendingWalk::prefix(std::size_t count) const
{
    return {m_view.begin(), m_view.begin() + static_cast<std::ptrdiff_t>(count)};
}

} // namespace tokenloupe
