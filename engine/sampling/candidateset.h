// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/softmaxsums.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tokenloupe {

/// A logit that a stage sets.
struct LogitEdit
{
    TokenId id;
    float logit = 0.0F;
};

/// What the stages of a chain work on. As long as every token is alive it is the row of logits itself
/// (borrowed, or an own copy once a value was changed); the list of candidates comes to be when a stage
/// removes the first token. So a chain that starts with top-k never writes down the whole vocabulary. Holds
/// no NaN and no +inf; the largest logit is finite.
class CandidateSet
{
public:
    /// InvalidLogits when there is +inf or no finite logit; NaN counts as -inf. `logits` must outlive the
    /// set.
    static Result<CandidateSet> of(std::span<const float> logits);
    CandidateSet(CandidateSet &&) = default;
    CandidateSet &operator=(CandidateSet &&) = default;
    CandidateSet(const CandidateSet &) = delete; // m_dense would go on looking at the other's m_own
    CandidateSet &operator=(const CandidateSet &) = delete;

    std::size_t size() const
    {
        return m_dense.empty() ? m_list.items.size() : m_dense.size() - m_banned.size();
    }
    std::size_t vocabulary() const { return m_vocabulary; }
    SoftmaxSums sums() const;
    float maximum() const;
    Candidate best() const; ///< the largest logit, lowest id among equals
    /// The `count` first in descending order.
    std::vector<Candidate> top(std::size_t count) const;
    /// The whole list where it is already in descending order, else empty.
    std::span<const Candidate> descending() const;
    void copyTo(Candidates &out) const;

    /// `items` must be a part of the set, in descending order, with the best one in it.
    void keep(std::vector<Candidate> items);
    void keepAtLeast(double threshold);
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
    void ownDense();
    bool isBanned(TokenId id) const;
    void dropBanned(std::vector<Candidate> &items) const;
    void setList(std::vector<Candidate> items, CandidateOrder order);
    std::vector<LogitEdit> alive(std::span<const TokenId> ids) const;
    void apply(std::span<const LogitEdit> edits);

    std::size_t m_vocabulary = 0;
    std::span<const float> m_dense; ///< every token by id; empty once the set is a list
    std::vector<float> m_own;       ///< what m_dense refers to after a change
    std::vector<TokenId> m_banned;  ///< removed, rising ids, -inf in m_dense; empty once the set is a list
    Candidates m_list;
    enum class IdOrder { Any, Rising } m_idOrder = IdOrder::Any;
};

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
