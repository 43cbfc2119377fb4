// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/logitscan.h"

#include "engine/sampling/scratch.h"
#include "kernels/cpu/logitkernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace tokenloupe {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Rises as the order of comesBefore() falls, but for ids.
std::uint32_t radixKey(float logit)
{
    const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0F); // -0 is the same as +0
    const bool negative = (bits >> 31) != 0;
    return negative ? bits : ~(bits | 0x80000000U);
}

/// Sorts items whose ids rise, in three stable passes over 11 bits of the logit each: equal logits stay in
/// the order of their ids. An eighth of the time of std::sort for a whole vocabulary.
void radixSort(std::vector<Candidate> &items)
{
    constexpr int digitBits = 11;
    constexpr std::uint32_t digits = 1U << digitBits;
    std::vector<Candidate> other(items.size());
    for (int shift = 0; shift < 32; shift += digitBits) {
        std::array<std::uint32_t, digits> places{};
        for (const Candidate &item : items)
            ++places[(radixKey(item.logit) >> shift) % digits];
        std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
        for (const Candidate &item : items)
            other[places[(radixKey(item.logit) >> shift) % digits]++] = item;
        items.swap(other);
    }
}

void sortItems(std::vector<Candidate> &items)
{
    constexpr std::size_t worthwhile = 2048;
    const auto idsRise = [](const Candidate &a, const Candidate &b) { return a.id < b.id; };
    if (items.size() >= worthwhile && std::is_sorted(items.begin(), items.end(), idsRise))
        radixSort(items);
    else
        std::sort(items.begin(), items.end(), InDescendingOrder());
}

/// Leaves the `count` first, unsorted, the last of them at the end.
void cutToTop(std::vector<Candidate> &items, std::size_t count)
{
    if (count == 0 || items.size() < count) {
        items.resize(std::min(items.size(), count));
        return;
    }
    const auto last = items.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(items.begin(), last, items.end(), InDescendingOrder());
    items.resize(count);
}

constexpr std::size_t gatherSlack = 64; ///< entries that the kernel may write behind the last one

/// Indices and values that a kernel finds.
class Finds
{
public:
    explicit Finds(std::size_t room)
        : m_indices(room + gatherSlack)
        , m_values(room + gatherSlack)
    {}

    /// Of x[from] and those behind it: the first `room` or a few more with low ≤ value < high; returns where
    /// it stopped.
    std::size_t gather(std::span<const float> x, std::size_t from, float low, float high, std::size_t room)
    {
        LogitKernels::Found found{m_indices.data(), m_values.data(), 0, static_cast<std::int64_t>(room)};
        const std::int64_t end =
            logitKernels().gather(x.data(), static_cast<std::int64_t>(from),
                                  static_cast<std::int64_t>(x.size()), low, high, &found);
        m_count = static_cast<std::size_t>(found.count);
        return static_cast<std::size_t>(end);
    }
    std::size_t count() const { return m_count; }
    std::uint32_t index(std::size_t i) const { return m_indices[i]; }
    void appendTo(std::vector<Candidate> &items) const
    {
        const std::size_t before = items.size();
        items.resize(before + m_count);
        for (std::size_t i = 0; i < m_count; ++i)
            items[before + i] = {TokenId(m_indices[i]), m_values[i]};
    }

private:
    Scratch<std::uint32_t> m_indices;
    Scratch<float> m_values;
    std::size_t m_count = 0;
};

std::size_t countAtLeast(std::span<const float> logits, float bound)
{
    return static_cast<std::size_t>(
        logitKernels().countAtLeast(logits.data(), static_cast<std::int64_t>(logits.size()), bound));
}

float nextAbove(float value)
{
    return std::nextafter(value, infinity);
}

} // namespace

LogitScan scanLogits(std::span<const float> logits)
{
    const LogitKernels::Scan scan =
        logitKernels().scan(logits.data(), static_cast<std::int64_t>(logits.size()));
    if (scan.maximum == infinity)
        return {scan.maximum, LogitFlaw::PositiveInfinity};
    return {scan.maximum, scan.hasNan != 0 ? LogitFlaw::NotANumber : LogitFlaw::None};
}

LogitFlaw findFlaw(std::span<const float> logits)
{
    return scanLogits(logits).flaw;
}

void sortDescending(std::span<float> logits)
{
    constexpr int digitBits = 11;
    constexpr std::uint32_t digits = 1U << digitBits;
    Scratch<float> other(logits.size());
    std::span<float> from = logits;
    std::span<float> to = other.span();
    for (int shift = 0; shift < 32; shift += digitBits) {
        std::array<std::uint32_t, digits> places{};
        for (const float logit : from)
            ++places[(radixKey(logit) >> shift) % digits];
        std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
        for (const float logit : from)
            to[places[(radixKey(logit) >> shift) % digits]++] = logit;
        std::swap(from, to);
    }
    // An odd number of passes: the result is in the other array.
    std::copy(from.begin(), from.end(), logits.begin());
}

LogitPart selectAtLeast(std::span<const float> logits, double threshold)
{
    // The smallest float that is not below the threshold: the same decision for every logit, in float
    // compares.
    float bound = static_cast<float>(threshold);
    if (static_cast<double>(bound) < threshold)
        bound = nextAbove(bound);
    LogitPart part{Scratch<std::uint32_t>(logits.size() + gatherSlack),
                   Scratch<float>(logits.size() + gatherSlack)};
    const auto n = static_cast<std::int64_t>(logits.size());
    LogitKernels::Found found{part.indices.data(), part.logits.data(), 0, n};
    logitKernels().gather(logits.data(), 0, n, bound, infinity, &found);
    part.indices.shrink(static_cast<std::size_t>(found.count));
    part.logits.shrink(static_cast<std::size_t>(found.count));
    return part;
}

Scratch<float> valuesBetween(std::span<const float> logits, float low, float high)
{
    Scratch<float> values(logits.size() + gatherSlack);
    const std::int64_t count = logitKernels().select(logits.data(), static_cast<std::int64_t>(logits.size()),
                                                     low, high, values.data());
    values.shrink(static_cast<std::size_t>(count));
    return values;
}

std::vector<Candidate> selectTop(std::vector<Candidate> items, std::size_t count)
{
    if (count <= items.size() / 4)
        cutToTop(items, count);
    sortItems(items);
    items.resize(std::min(items.size(), count));
    return items;
}

std::vector<Candidate> selectTop(std::span<const float> logits, std::size_t count)
{
    count = std::min(count, logits.size());
    if (count == 0)
        return {};
    if (count > logits.size() / 4) {
        Candidates all;
        all.assign(logits);
        return selectTop(std::move(all.items), count);
    }

    const std::size_t room = 2 * count + 64;
    Finds finds(room);
    std::vector<Candidate> items;
    items.reserve(room + 16);
    float low = -infinity;
    for (std::size_t from = 0;;) {
        from = finds.gather(logits, from, low, infinity, room - items.size());
        finds.appendTo(items);
        if (from >= logits.size())
            break;
        // From here on only larger values can get in: an equal one has a higher id than all `count` in front
        // of it.
        cutToTop(items, count);
        low = nextAbove(items.back().logit);
    }
    return selectTop(std::move(items), count);
}

std::size_t indexOfEqual(std::span<const float> logits, float value, std::size_t skipped)
{
    Finds finds(skipped + 1);
    finds.gather(logits, 0, value, nextAbove(value), skipped + 1);
    return skipped < finds.count() ? finds.index(skipped) : logits.size();
}

std::size_t countGreater(std::span<const float> logits, float value)
{
    return countAtLeast(logits, nextAbove(value));
}

std::size_t countEqual(std::span<const float> logits, float value)
{
    return countAtLeast(logits, value) - countAtLeast(logits, nextAbove(value));
}

void divideAll(std::span<const float> logits, float floor, float divisor, std::span<float> out)
{
    logitKernels().divide(logits.data(), floor, divisor, static_cast<std::int64_t>(logits.size()),
                          out.data());
}

} // namespace tokenloupe
