// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/logitscan.h"
#include "engine/sampling/masssearch.h"
#include "engine/sampling/scratch.h"
#include "engine/sampling/softmaxsums.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// A logit that a stage sets.
struct LogitEdit
{
    TokenId id;
    float logit = 0.0F;
};

/// What the stages of a chain work on. A row of logits by rising id: the one given (borrowed, or an own copy
/// once a value was changed) as long as most tokens are alive, then what a stage left of it; or a sorted
/// list, once few are left. So a chain that starts with top-k never writes down the whole vocabulary, one
/// that keeps most of it only remembers a bound, and no chain sorts it. Holds no NaN and no +inf; the largest
/// logit is finite.
class CandidateSet
{
public:
    /// InvalidLogits when there is +inf or no finite logit; NaN counts as -inf. `logits` must outlive the
    /// set.
    static Result<CandidateSet> of(std::span<const float> logits);
    CandidateSet(CandidateSet &&) = default;
    CandidateSet &operator=(CandidateSet &&) = default;
    CandidateSet(const CandidateSet &) = delete; // m_row would go on looking at the other's m_own
    CandidateSet &operator=(const CandidateSet &) = delete;

    std::size_t size() const
    {
        return m_row.empty() ? m_list.items.size() : m_row.size() - m_below - m_banned.size();
    }
    std::size_t vocabulary() const { return m_vocabulary; }
    SoftmaxWeights weights() const;
    SoftmaxSums sums() const;
    float maximum() const;
    std::optional<float> logitOf(TokenId id) const; ///< nothing when the token is not alive
    Candidate best() const;                         ///< the largest logit, lowest id among equals
    /// The `count` first in descending order.
    std::vector<Candidate> top(std::size_t count) const;
    /// The whole list where it is already in descending order, else empty.
    std::span<const Candidate> descending() const;
    void copyTo(Candidates &out) const;
    /// Calls visit(candidate) for each, in no particular order.
    template <class Visit>
    void forEach(Visit visit) const;

    /// The candidate with which the running sum of the weights, in descending order, meets the goal.
    struct PrefixEnd
    {
        Candidate last;
        std::size_t count = 0;     ///< candidates up to it
        double sum = 0.0;          ///< of their weights
        bool isCutByLogit = false; ///< known that none behind it has the same logit
    };
    /// Nothing when all of them are not enough.
    std::optional<PrefixEnd> prefixOf(const SoftmaxWeights &weights, MassGoal goal) const;

    /// `items` must be a part of the set, in descending order, with the best one in it.
    void keep(std::vector<Candidate> items);
    void keepAtLeast(double threshold);
    /// As prefixOf() found it.
    void keepPrefix(const PrefixEnd &end);
    /// Ids rise and are below vocabulary(). Edits of tokens that are not alive have no effect; `change` maps
    /// the present logit to the new one. Removes tokens whose logit becomes -inf.
    template <class Change>
    void edit(std::span<const TokenId> ids, Change change);
    /// l /= divisor
    void divideBy(float divisor);
    /// l -= value, rounded once
    void subtract(double value);
    /// Whether a finite logit is left (after edits).
    Status check() const;

private:
    CandidateSet() = default;
    TokenId idAt(std::size_t index) const;
    void ownRow();
    void dropBelow();
    void setRow(LogitPart part);
    bool isAlive(Candidate item) const; ///< for those of the row
    void dropBanned(std::vector<Candidate> &items) const;
    std::vector<LogitEdit> alive(std::span<const TokenId> ids) const;
    void apply(std::span<const LogitEdit> edits);
    void applyToRow(std::span<const LogitEdit> edits);
    void applyToList(std::span<const LogitEdit> edits);
    std::optional<std::size_t> indexOf(TokenId id) const; ///< in the row

    std::size_t m_vocabulary = 0;
    std::span<const float> m_row; ///< logits by rising id; empty once the set is a list
    Scratch<std::uint32_t> m_ids; ///< of the row's entries; empty while every token is in it
    Scratch<float> m_own;         ///< what m_row refers to when it is not the borrowed one
    float m_maximum = 0.0F;       ///< of the row
    double m_sumExp = 0.0; ///< of the row's weights; 0: not known, and none is below the floor but -inf
    float m_floor =
        -std::numeric_limits<float>::infinity(); ///< what is less was removed and still is in the row
    std::size_t m_below = 0;                     ///< how many those are
    std::vector<TokenId> m_banned; ///< removed, rising ids, -inf in the row; empty once the set is a list
    Candidates m_list;
};

inline TokenId CandidateSet::idAt(std::size_t index) const
{
    return TokenId(m_ids.empty() ? static_cast<std::uint32_t>(index) : m_ids[index]);
}

inline bool CandidateSet::isAlive(Candidate item) const
{
    return item.logit >= m_floor &&
           (m_banned.empty() || !std::binary_search(m_banned.begin(), m_banned.end(), item.id));
}

template <class Visit>
void CandidateSet::forEach(Visit visit) const
{
    for (const Candidate &item : m_list.items)
        visit(item);
    for (std::size_t i = 0; i < m_row.size(); ++i) {
        const Candidate item{idAt(i), m_row[i]};
        if (isAlive(item))
            visit(item);
    }
}

template <class Change>
void CandidateSet::edit(std::span<const TokenId> ids, Change change)
{
    std::vector<LogitEdit> edits = alive(ids);
    for (LogitEdit &entry : edits)
        entry.logit = change(entry.id, entry.logit);
    apply(edits);
}

/// Walks a set in descending order, sorting only as far as it is asked to go.
class DescendingWalk
{
public:
    explicit DescendingWalk(const CandidateSet &set);

    const Candidate *next(); ///< nullptr at the end
    /// The first `count` that next() returned.
    std::vector<Candidate> prefix(std::size_t count) const;

private:
    const CandidateSet &m_set;
    std::vector<Candidate> m_sorted;
    std::span<const Candidate> m_view;
    std::size_t m_next = 0;
};

} // namespace tokenloupe
