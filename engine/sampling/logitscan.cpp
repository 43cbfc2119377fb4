// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/logitscan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace tokenloupe {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Values looked at together: a block in which nothing is of interest costs a few vector instructions.
constexpr std::size_t blockSize = 64;

/// Whether `wanted` holds for any of n values. Without an early exit, so that it becomes vector code.
template <class Predicate>
bool anyOf(const float *x, std::size_t n, Predicate wanted)
{
    std::int32_t found = 0;
    if (n == blockSize) {
        for (std::size_t i = 0; i < blockSize; ++i)
            found |= static_cast<std::int32_t>(wanted(x[i]));
    } else {
        for (std::size_t i = 0; i < n; ++i)
            found |= static_cast<std::int32_t>(wanted(x[i]));
    }
    return found != 0;
}

Candidate candidateAt(std::span<const float> logits, std::size_t index)
{
    return {TokenId(static_cast<std::uint32_t>(index)), logits[index]};
}

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
        std::sort(items.begin(), items.end(), comesBefore);
}

/// Leaves the `count` first, unsorted, the last of them at the end.
void cutToTop(std::vector<Candidate> &items, std::size_t count)
{
    if (count == 0 || items.size() < count) {
        items.resize(std::min(items.size(), count));
        return;
    }
    const auto last = items.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(items.begin(), last, items.end(), comesBefore);
    items.resize(count);
}

template <class Predicate>
std::size_t countIf(std::span<const float> logits, Predicate wanted)
{
    // 32 bits a lane are enough: a vocabulary has fewer than 2^32 tokens.
    std::uint32_t count = 0;
    const float *x = logits.data();
    for (std::size_t i = 0; i < logits.size(); ++i)
        count += static_cast<std::uint32_t>(wanted(x[i]));
    return count;
}

} // namespace

LogitFlaw findFlaw(std::span<const float> logits)
{
    // True for NaN as well as for +inf.
    const auto flawed = [](float x) { return !(x < infinity); };
    LogitFlaw worst = LogitFlaw::None;
    for (std::size_t begin = 0; begin < logits.size(); begin += blockSize) {
        const std::size_t n = std::min(blockSize, logits.size() - begin);
        if (!anyOf(logits.data() + begin, n, flawed))
            continue;
        for (std::size_t i = begin; i < begin + n; ++i) {
            if (logits[i] == infinity)
                return LogitFlaw::PositiveInfinity;
            if (std::isnan(logits[i]))
                worst = LogitFlaw::NotANumber;
        }
    }
    return worst;
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

    const std::size_t room = 2 * count + blockSize;
    std::vector<Candidate> items;
    items.reserve(room + blockSize);
    float threshold = infinity;
    for (std::size_t i = 0; i < count; ++i) {
        items.push_back(candidateAt(logits, i));
        threshold = std::min(threshold, logits[i]);
    }
    // From here on only larger values can get in: an equal one has a higher id than all `count` in front of
    // it.
    for (std::size_t begin = count; begin < logits.size(); begin += blockSize) {
        const std::size_t n = std::min(blockSize, logits.size() - begin);
        if (!anyOf(logits.data() + begin, n, [threshold](float x) { return x > threshold; }))
            continue;
        for (std::size_t i = begin; i < begin + n; ++i) {
            if (logits[i] > threshold)
                items.push_back(candidateAt(logits, i));
        }
        if (items.size() >= room) {
            cutToTop(items, count);
            threshold = items.back().logit;
        }
    }
    return selectTop(std::move(items), count);
}

std::vector<Candidate> selectAtLeast(std::span<const float> logits, double threshold)
{
    // The smallest float that is not below the threshold: the same decision for every logit, in float
    // compares.
    float bound = static_cast<float>(threshold);
    if (static_cast<double>(bound) < threshold)
        bound = std::nextafter(bound, infinity);
    std::vector<Candidate> items;
    for (std::size_t begin = 0; begin < logits.size(); begin += blockSize) {
        const std::size_t n = std::min(blockSize, logits.size() - begin);
        if (!anyOf(logits.data() + begin, n, [bound](float x) { return x >= bound; }))
            continue;
        for (std::size_t i = begin; i < begin + n; ++i) {
            if (logits[i] >= bound)
                items.push_back(candidateAt(logits, i));
        }
    }
    return items;
}

std::size_t firstEqual(std::span<const float> logits, float value)
{
    for (std::size_t begin = 0; begin < logits.size(); begin += blockSize) {
        const std::size_t n = std::min(blockSize, logits.size() - begin);
        if (!anyOf(logits.data() + begin, n, [value](float x) { return x == value; }))
            continue;
        for (std::size_t i = begin; i < begin + n; ++i) {
            if (logits[i] == value)
                return i;
        }
    }
    return logits.size();
}

std::size_t countGreater(std::span<const float> logits, float value)
{
    return countIf(logits, [value](float x) { return x > value; });
}

std::size_t countEqual(std::span<const float> logits, float value)
{
    return countIf(logits, [value](float x) { return x == value; });
}

void divideAll(std::span<const float> logits, float divisor, std::span<float> out)
{
    const float *x = logits.data();
    float *y = out.data();
    for (std::size_t i = 0; i < logits.size(); ++i)
        y[i] = x[i] / divisor;
}

} // namespace tokenloupe
