// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidateset.h"

#include "engine/sampling/logitscan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

} // namespace

Result<CandidateSet> CandidateSet::of(std::span<const float> logits)
{
    CandidateSet set;
    set.m_vocabulary = logits.size();
    set.m_row = logits;
    const LogitScan scan = scanLogits(logits);
    set.m_maximum = scan.maximum;
    if (scan.flaw == LogitFlaw::PositiveInfinity)
        return makeError(ErrorCode::InvalidLogits, "sample", "a logit is +inf");
    if (scan.flaw == LogitFlaw::NotANumber) {
        set.ownRow();
        for (float &logit : set.m_own.span()) {
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

SoftmaxWeights CandidateSet::weights() const
{
    if (m_row.empty())
        return softmaxSums(std::span<const Candidate>(m_list.items));
    if (m_sumExp > 0.0)
        return {m_maximum, m_sumExp};
    return softmaxWeights(m_row, m_maximum);
}

SoftmaxSums CandidateSet::sums() const
{
    if (m_row.empty())
        return softmaxSums(std::span<const Candidate>(m_list.items));
    if (m_below == 0)
        return softmaxSums(m_row, m_maximum);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return softmaxSums(valuesBetween(m_row, m_floor, infinity).span(), m_maximum);
}

float CandidateSet::maximum() const
{
    if (!m_row.empty())
        return m_maximum;
    if (m_list.order == CandidateOrder::DescendingLogit)
        return m_list.items.front().logit;
    float result = minusInfinity;
    for (const Candidate &item : m_list.items)
        result = std::max(result, item.logit);
    return result;
}

Candidate CandidateSet::best() const
{
    if (!m_row.empty())
        return {idAt(indexOfEqual(m_row, m_maximum)), m_maximum};
    return *std::min_element(m_list.items.begin(), m_list.items.end(), InDescendingOrder());
}

std::optional<std::size_t> CandidateSet::indexOf(TokenId id) const
{
    if (id.value() >= m_vocabulary || m_row.empty())
        return std::nullopt;
    if (m_ids.empty())
        return id.value();
    const std::span<const std::uint32_t> ids = m_ids.span();
    const auto at = std::lower_bound(ids.begin(), ids.end(), id.value());
    if (at == ids.end() || *at != id.value())
        return std::nullopt;
    return static_cast<std::size_t>(at - ids.begin());
}

std::optional<float> CandidateSet::logitOf(TokenId id) const
{
    if (const auto index = indexOf(id))
        return isAlive({id, m_row[*index]}) ? std::optional<float>(m_row[*index]) : std::nullopt;
    for (const Candidate &item : m_list.items) {
        if (item.id == id)
            return item.logit;
    }
    return std::nullopt;
}

std::vector<Candidate> CandidateSet::top(std::size_t count) const
{
    count = std::min(count, size());
    if (!m_row.empty()) {
        // The banned ones are among the last; room for them, so that `count` others are found.
        std::vector<Candidate> items = selectTop(m_row, count + m_banned.size());
        if (!m_ids.empty()) {
            for (Candidate &item : items)
                item.id = idAt(item.id.value());
        }
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
    if (m_row.empty() && m_list.order == CandidateOrder::DescendingLogit)
        return m_list.items;
    return {};
}

void CandidateSet::copyTo(Candidates &out) const
{
    if (m_row.empty()) {
        out = m_list;
        return;
    }
    out.items.clear();
    out.items.reserve(size());
    forEach([&out](const Candidate &item) { out.items.push_back(item); });
    out.order = CandidateOrder::Unsorted;
}

std::optional<CandidateSet::PrefixEnd> CandidateSet::prefixOf(const SoftmaxWeights &weights,
                                                              MassGoal goal) const
{
    // No weight is above 1, and they fall: a flat distribution does not meet the goal within the first few.
    constexpr std::size_t head = 64;
    const bool mayBeShort = m_row.size() <= exactSoftmaxLimit || goal.sum <= double(head) / 4.0;
    if (mayBeShort) {
        DescendingWalk walk(*this);
        double running = 0.0;
        const std::size_t most = m_row.size() <= exactSoftmaxLimit ? size() : head;
        for (std::size_t count = 1; count <= most; ++count) {
            const Candidate *candidate = walk.next();
            if (!candidate)
                return std::nullopt;
            running += weights.weightOf(candidate->logit);
            if (goal.isMet(running))
                return PrefixEnd{*candidate, count, running};
        }
        if (most == size())
            return std::nullopt;
    }
    const std::optional<MassPoint> point = findMass({m_row, m_floor, m_below}, weights, goal);
    if (!point)
        return std::nullopt;
    return PrefixEnd{{idAt(point->index), point->logit},
                     std::min(point->count, size()),
                     point->sum,
                     point->isLastOfItsLogit};
}

void CandidateSet::keep(std::vector<Candidate> items)
{
    m_list.items = std::move(items);
    m_list.order = CandidateOrder::DescendingLogit;
    m_row = {};
    m_own.clear();
    m_ids.clear();
    m_floor = minusInfinity;
    m_below = 0;
    m_banned.clear();
}

void CandidateSet::setRow(LogitPart part)
{
    if (!m_ids.empty()) {
        for (std::uint32_t &id : part.indices.span())
            id = m_ids[id];
    }
    m_ids = std::move(part.indices);
    m_own = std::move(part.logits);
    m_row = m_own.span();
    m_sumExp = 0.0;
    m_floor = minusInfinity;
    m_below = 0;
}

/// What was removed leaves the row.
void CandidateSet::dropBelow()
{
    if (m_below > 0)
        keepAtLeast(static_cast<double>(m_floor));
}

void CandidateSet::keepAtLeast(double threshold)
{
    if (m_row.empty()) {
        std::erase_if(m_list.items, [threshold](const Candidate &c) { return !(c.logit >= threshold); });
        return;
    }
    setRow(selectAtLeast(m_row, std::max(threshold, static_cast<double>(m_floor))));
    std::erase_if(m_banned, [this](TokenId id) { return !indexOf(id); });
}

void CandidateSet::keepPrefix(const PrefixEnd &end)
{
    if (m_row.empty()) {
        keep(top(end.count));
        return;
    }
    if (end.isCutByLogit && end.count > m_row.size() / 4) {
        m_floor = end.last.logit;
        m_below = m_row.size() - end.count;
        m_sumExp = end.sum;
        m_banned.clear(); // they are below
        return;
    }
    keepAtLeast(static_cast<double>(end.last.logit));
    // Those few are wanted in order sooner or later.
    constexpr std::size_t worthSorting = 512;
    if (end.count <= worthSorting) {
        keep(top(end.count));
        return;
    }
    m_sumExp = end.sum;
    if (m_own.size() == end.count)
        return;
    // Equal ones with a higher id are still there.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < m_own.size(); ++i) {
        if (m_own[i] == end.last.logit && idAt(i) > end.last.id)
            continue;
        m_own[kept] = m_own[i];
        m_ids[kept++] = m_ids[i];
    }
    m_own.shrink(kept);
    m_ids.shrink(kept);
    m_row = m_own.span();
}

void CandidateSet::dropBanned(std::vector<Candidate> &items) const
{
    if (!m_banned.empty())
        std::erase_if(items, [this](const Candidate &c) { return c.logit == minusInfinity && !isAlive(c); });
}

void CandidateSet::ownRow()
{
    if (!m_own.empty())
        return;
    m_own.resize(m_row.size());
    std::copy(m_row.begin(), m_row.end(), m_own.data());
    m_row = m_own.span();
}

std::vector<LogitEdit> CandidateSet::alive(std::span<const TokenId> ids) const
{
    std::vector<LogitEdit> found;
    found.reserve(ids.size());
    if (!m_row.empty()) {
        for (const TokenId id : ids) {
            const auto index = indexOf(id);
            if (index && isAlive({id, m_row[*index]}))
                found.push_back({id, m_row[*index]});
        }
        return found;
    }
    for (const Candidate &item : m_list.items) {
        if (std::binary_search(ids.begin(), ids.end(), item.id))
            found.push_back({item.id, item.logit});
    }
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
    return found;
}

void CandidateSet::apply(std::span<const LogitEdit> edits)
{
    if (edits.empty())
        return;
    if (m_row.empty())
        applyToList(edits);
    else
        applyToRow(edits);
}

void CandidateSet::applyToRow(std::span<const LogitEdit> edits)
{
    dropBelow();
    ownRow();
    m_sumExp = 0.0;
    const std::size_t before = m_banned.size();
    float largest = minusInfinity;
    bool mayBeLower = false;
    for (const LogitEdit &entry : edits) {
        float &logit = m_own[*indexOf(entry.id)];
        // A token that the model itself gave -inf stays in the set; one that gets it now leaves.
        if (entry.logit == minusInfinity && logit != minusInfinity)
            m_banned.push_back(entry.id);
        mayBeLower |= logit == m_maximum;
        largest = std::max(largest, entry.logit);
        logit = entry.logit;
    }
    m_maximum = mayBeLower ? scanLogits(m_row).maximum : std::max(m_maximum, largest);
    std::inplace_merge(m_banned.begin(), m_banned.begin() + static_cast<std::ptrdiff_t>(before),
                       m_banned.end());
}

void CandidateSet::applyToList(std::span<const LogitEdit> edits)
{
    for (Candidate &item : m_list.items) {
        const auto entry = std::lower_bound(edits.begin(), edits.end(), item.id,
                                            [](const LogitEdit &a, TokenId id) { return a.id < id; });
        if (entry == edits.end() || entry->id != item.id)
            continue;
        const bool banned = entry->logit == minusInfinity && item.logit != minusInfinity;
        item.logit = entry->logit;
        if (banned)
            item.id = TokenId();
    }
    std::erase_if(m_list.items, [](const Candidate &item) { return !item.id.isValid(); });
    m_list.order = CandidateOrder::Unsorted;
}

void CandidateSet::divideBy(float divisor)
{
    if (!m_row.empty()) {
        if (!std::isfinite(m_floor / divisor))
            dropBelow();
        // A copy in the same pass where the logits are still the borrowed ones. What is below the floor
        // becomes -inf: rounding must not lift it.
        m_own.resize(m_row.size());
        divideAll(m_row, m_floor, divisor, m_own.span());
        m_row = m_own.span();
        m_maximum /= divisor;
        m_floor /= divisor;
        m_sumExp = 0.0;
        return;
    }
    for (Candidate &item : m_list.items)
        item.logit /= divisor;
    // Different logits may have become equal; a stable order would have to look at ids again.
    if (!std::is_sorted(m_list.items.begin(), m_list.items.end(), InDescendingOrder()))
        m_list.order = CandidateOrder::Unsorted;
}

void CandidateSet::subtract(double value)
{
    const auto shifted = [value](float logit) {
        return static_cast<float>(static_cast<double>(logit) - value);
    };
    if (!m_row.empty()) {
        dropBelow();
        ownRow();
        std::transform(m_own.data(), m_own.data() + m_own.size(), m_own.data(), shifted);
        m_maximum = shifted(m_maximum);
        m_sumExp = 0.0;
        return;
    }
    for (Candidate &item : m_list.items)
        item.logit = shifted(item.logit);
    if (!std::is_sorted(m_list.items.begin(), m_list.items.end(), InDescendingOrder()))
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
