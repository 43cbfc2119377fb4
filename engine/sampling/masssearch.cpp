// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/masssearch.h"

#include "engine/sampling/logitscan.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/logitkernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace tokenloupe {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::size_t worthSplitting = 128; ///< fewer are sorted

/// How many logits of a stretch stand for all of it, and two deviations of a quantile among them, as places:
/// that the goal lies outside now and then costs less than looking at more every time. Sorting many takes
/// longer than one pass more over a stretch that is short.
struct SampleSize
{
    std::size_t count = 0; ///< a power of two
    std::size_t margin = 0;
};
constexpr std::size_t largestSample = 512;
constexpr SampleSize sampleSizeFor(std::size_t stretch)
{
    return stretch > 65536  ? SampleSize{largestSample, 24}
           : stretch > 8192 ? SampleSize{256, 16}
                            : SampleSize{64, 8};
}

struct Sample
{
    std::size_t count = 0;
    std::size_t margin = 0;
    std::array<float, largestSample> sorted{}; ///< descending
};

/// Evenly taken from all of the values; those below the floor are left out.
Sample sampleOf(std::span<const float> values, float floor)
{
    Sample sample;
    const auto [taken, margin] = sampleSizeFor(values.size());
    for (std::size_t i = 0; i < taken; ++i) {
        const float value = values[i * values.size() >> std::countr_zero(taken)];
        sample.sorted[sample.count] = value;
        sample.count += std::size_t(value >= floor);
    }
    sample.margin = margin;
    const auto end = sample.sorted.begin() + static_cast<std::ptrdiff_t>(sample.count);
    std::sort(sample.sorted.begin(), end, std::greater<>());
    return sample;
}

class Search
{
public:
    Search(const FlooredRow &row, const SoftmaxWeights &weights, MassGoal goal)
        : m_row(row.logits)
        , m_weights(weights)
        , m_goal(goal)
        , m_values(row.logits)
        , m_low(row.floor)
        , m_size(row.logits.size() - row.below)
        , m_mass(weights.sumExp)
    {}

    std::optional<MassPoint> run()
    {
        while (m_values.size() > worthSplitting) {
            const std::size_t before = m_values.size();
            narrow(Width::Stretch);
            if (m_values.size() > before / 4 * 3) // few different values
                narrow(Width::OneValue);
            if (isUniform())
                return withinUniform();
        }
        return walk();
    }

private:
    enum class Width { Stretch, OneValue };
    enum class Side { Head, Tail };

    double massOf(std::span<const float> values) const
    {
        return logitKernels().weightSum(values.data(), static_cast<std::int64_t>(values.size()),
                                        m_weights.maximum);
    }
    bool isUniform() const { return !m_values.empty() && std::nextafter(m_low, infinity) >= m_high; }
    Scratch<float> head(float bound) const { return valuesBetween(m_values, bound, m_high); }
    Scratch<float> tail(float bound) const { return valuesBetween(m_values, m_low, bound); }

    /// Splits the stretch into its head, all that are at least `bound`, and its tail, and goes on with the
    /// one in which the goal is met. The side that is `looked` at is found and summed, the other follows.
    void cut(float bound, Side looked)
    {
        const bool headFirst = looked == Side::Head;
        Scratch<float> found = headFirst ? head(bound) : tail(bound);
        double mass = massOf(found.span());
        const double headMass = headFirst ? mass : m_mass - mass;
        const std::size_t headCount = headFirst ? found.size() : m_size - found.size();
        const bool inHead = headCount > 0 && m_goal.isMet(m_running + headMass);
        if (inHead != headFirst) {
            found = headFirst ? tail(bound) : head(bound);
            mass = std::max(0.0, m_mass - mass);
        }
        if (inHead) {
            m_low = bound;
        } else {
            m_high = bound;
            m_count += headCount;
            m_running += headMass;
        }
        m_found = std::move(found);
        m_values = m_found.span();
        m_size = m_found.size();
        m_mass = mass;
    }

    /// Cuts what is likely to be in front of the goal and what is likely to be behind it off the stretch.
    void narrow(Width width)
    {
        const Sample sample = sampleOf(m_values, m_low);
        const std::size_t count = sample.count;
        if (count == 0) { // only of the row itself, nearly all of it below the floor
            cut(m_low, Side::Head);
            return;
        }
        const std::size_t middle = guess(sample);
        const bool one = width == Width::OneValue;
        const std::size_t first = one ? middle : middle - std::min(middle, sample.margin);
        const std::size_t last = one ? middle : std::min(middle + sample.margin, count - 1);
        // At the ends of the sample the stretch keeps its own.
        const float high = !one && first == 0 ? m_high : std::nextafter(sample.sorted[first], infinity);
        const float low = !one && last == count - 1 ? m_low : sample.sorted[last];

        // First the cut that leaves less, so that the other one has less to look at.
        const auto shorter = [](std::size_t before, std::size_t all) {
            return before < all / 2 ? Side::Head : Side::Tail;
        };
        if (middle < count / 2) {
            cut(low, Side::Head);
            if (m_low == low && high < m_high)
                cut(high, shorter(first, last));
        } else {
            cut(high, Side::Tail);
            if (m_high == high && low > m_low)
                cut(low, shorter(last - first, count - first));
        }
    }

    /// Where in the sample the goal is likely to be met. Counted from its end: in front a few entries that
    /// the sample misses may hold most of the weight.
    std::size_t guess(const Sample &sample) const
    {
        const std::size_t count = sample.count;
        std::array<float, largestSample> sums = sample.sorted;
        cpuKernels().expSum(sums.data(), m_weights.maximum, static_cast<std::int64_t>(count));
        for (std::size_t i = count - 1; i-- > 0;)
            sums[i] += sums[i + 1];
        const double all = std::max(1e-300, static_cast<double>(sums[0]));
        const double each = std::min(m_mass / all, double(m_size) / double(count));
        const double behind = m_mass - (m_goal.sum - m_running);
        const auto end = sums.begin() + static_cast<std::ptrdiff_t>(count);
        const auto at = std::partition_point(
            sums.begin(), end, [&](float sum) { return static_cast<double>(sum) * each >= behind; });
        return at == sums.begin() ? 0 : static_cast<std::size_t>(at - sums.begin()) - 1;
    }

    /// The one behind `skipped` others of the same logit.
    MassPoint pointAt(float logit, std::size_t skipped, std::size_t count, double sum, bool isLast) const
    {
        const std::size_t index = indexOfEqual(m_row, logit, skipped);
        return {static_cast<std::uint32_t>(index), logit, count, sum, isLast};
    }

    /// All of the stretch have one logit: their running sums are multiples.
    MassPoint withinUniform() const
    {
        const std::size_t n = m_values.size();
        const double weight = m_weights.weightOf(m_values.front());
        std::size_t low = 0;
        std::size_t high = n - 1; // met with this one at the latest, but for rounding
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (m_goal.isMet(m_running + static_cast<double>(middle + 1) * weight))
                high = middle;
            else
                low = middle + 1;
        }
        return pointAt(m_values[low], low, m_count + low + 1,
                       m_running + static_cast<double>(low + 1) * weight, low + 1 == n);
    }

    std::optional<MassPoint> walk() const
    {
        std::vector<float> values;
        std::copy_if(m_values.begin(), m_values.end(), std::back_inserter(values),
                     [this](float value) { return value >= m_low; });
        std::sort(values.begin(), values.end(), std::greater<>());
        double running = m_running;
        std::size_t equal = 0; // the first of those with the same logit
        for (std::size_t i = 0; i < values.size(); ++i) {
            running += m_weights.weightOf(values[i]);
            equal = values[i] == values[equal] ? equal : i;
            const bool isLast = i + 1 == values.size() || values[i + 1] != values[i];
            // At the end the sum of the stretch met it, by a rounding error.
            const bool isRounded = i + 1 == values.size() && running > m_running;
            if (m_goal.isMet(running) || (isRounded && m_goal.isMet(m_running + m_mass)))
                return pointAt(values[i], i - equal, m_count + i + 1, running, isLast);
        }
        return std::nullopt;
    }

    const std::span<const float> m_row;
    const SoftmaxWeights &m_weights;
    const MassGoal m_goal;
    std::span<const float> m_values; ///< the stretch in which the goal is met: the row or m_found
    Scratch<float> m_found;
    float m_low;             ///< the stretch is all of the row that is at least this
    float m_high = infinity; ///< and less than this
    std::size_t m_size;      ///< of the stretch
    double m_mass;
    std::size_t m_count = 0; ///< entries in front of it
    double m_running = 0.0;  ///< their weights
};

} // namespace

std::optional<MassPoint> findMass(const FlooredRow &row, const SoftmaxWeights &weights, MassGoal goal)
{
    return Search(row, weights, goal).run();
}

} // namespace tokenloupe
