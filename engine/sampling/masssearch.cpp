// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/masssearch.h"

#include "engine/sampling/logitscan.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/logitkernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace tokenloupe {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::size_t worthSplitting = 128; ///< fewer are sorted

/// How many logits of a stretch stand for all of it, and three deviations of a quantile among them, as
/// places. Sorting many takes longer than one pass more over a stretch that is short.
struct SampleSize
{
    std::size_t count = 0;
    std::size_t margin = 0;
};
constexpr std::size_t largestSample = 256;
constexpr SampleSize sampleSizeFor(std::size_t stretch)
{
    return stretch > 8192 ? SampleSize{largestSample, 24} : SampleSize{64, 12};
}

/// Consecutive entries of the descending order, themselves by rising index.
struct Stretch
{
    LogitPart part; ///< unused by the stretch that is the whole row
    std::span<const float> values;
    bool isWhole = false;

    std::uint32_t indexOf(std::size_t i) const
    {
        return isWhole ? static_cast<std::uint32_t>(i) : part.indices[i];
    }
};

class Search
{
public:
    Search(std::span<const float> logits, const SoftmaxWeights &weights, MassGoal goal)
        : m_weights(weights)
        , m_goal(goal)
    {
        m_stretch.values = logits;
        m_stretch.isWhole = true;
        m_mass = weights.sumExp;
    }

    std::optional<MassPoint> run()
    {
        if (m_stretch.values.size() > worthSplitting)
            leaveTail();
        while (m_stretch.values.size() > worthSplitting) {
            Outcome outcome = narrow(Width::Stretch);
            if (outcome == Outcome::TooWide)
                outcome = narrow(Width::OneValue);
            if (outcome == Outcome::Beyond)
                return std::nullopt;
            if (m_isUniform)
                return withinUniform();
        }
        return walk();
    }

private:
    using Sample = std::array<float, largestSample>;
    enum class Width { Stretch, OneValue };
    enum class Outcome { Narrowed, TooWide, Beyond };

    /// Those with low ≤ logit < high.
    Stretch part(float low, float high) const
    {
        Stretch result;
        result.part = selectBetween(m_stretch.values, low, high);
        result.values = result.part.logits.span();
        if (!m_stretch.isWhole) {
            for (std::size_t i = 0; i < result.values.size(); ++i)
                result.part.indices[i] = m_stretch.part.indices[result.part.indices[i]];
        }
        return result;
    }
    double massOf(const Stretch &stretch) const
    {
        return logitKernels().weightSum(stretch.values.data(),
                                        static_cast<std::int64_t>(stretch.values.size()), m_weights.maximum);
    }
    void enter(Stretch stretch, double mass)
    {
        m_stretch = std::move(stretch);
        m_mass = mass;
    }
    void pass(std::size_t count, double mass)
    {
        m_count += count;
        m_running += mass;
    }

    /// Of a row in which few entries hold most of the weight only these are looked at again: what all entries
    /// below a bound can weigh together is less than what the goal leaves over.
    void leaveTail()
    {
        const double left = m_weights.sumExp - m_goal.sum;
        const auto size = static_cast<double>(m_stretch.values.size());
        if (left <= 0.0)
            return;
        constexpr double certainty = 0.01; // more than rounding of the sums can be, in nats
        const double bound = static_cast<double>(m_weights.maximum) + std::log(left / size) - certainty;
        const float low = std::nextafter(static_cast<float>(bound), -infinity);
        if (countGreater(m_stretch.values, low) > m_stretch.values.size() / 4)
            return;
        Stretch head = part(low, infinity);
        const double mass = massOf(head);
        enter(std::move(head), mass);
    }

    /// Logits of the stretch in descending order, evenly taken from all of it.
    Sample sample(std::size_t count) const
    {
        Sample result{};
        const std::size_t n = m_stretch.values.size();
        for (std::size_t i = 0; i < count; ++i)
            result[i] = m_stretch.values[i * n / count];
        std::sort(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
        return result;
    }

    /// Where in the sample the goal is likely to be met.
    std::size_t guess(const Sample &sorted, std::size_t count) const
    {
        Sample weights = sorted;
        cpuKernels().expSum(weights.data(), m_weights.maximum, static_cast<std::int64_t>(count));
        std::array<float, largestSample> sums{};
        std::partial_sum(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(count), sums.begin());
        const double share = m_mass > 0.0 ? (m_goal.sum - m_running) / m_mass : 1.0;
        const auto end = sums.begin() + static_cast<std::ptrdiff_t>(count);
        const auto at =
            std::lower_bound(sums.begin(), end, static_cast<float>(share * double(sums[count - 1])));
        return std::min<std::size_t>(static_cast<std::size_t>(at - sums.begin()), count - 1);
    }

    /// Splits the stretch in three and goes on with the part in which the goal is met. TooWide: the middle
    /// part is hardly shorter than the whole, nothing was done; not for OneValue. Beyond: not met in any of
    /// them.
    Outcome narrow(Width width)
    {
        const auto [count, margin] = sampleSizeFor(m_stretch.values.size());
        const Sample sorted = sample(count);
        const std::size_t middle = guess(sorted, count);
        const bool one = width == Width::OneValue;
        const std::size_t first = one ? middle : middle - std::min(middle, margin);
        const std::size_t last = one ? middle : std::min(middle + margin, count - 1);
        // At the ends of the sample the part reaches to the end of the stretch.
        const float high = !one && first == 0 ? infinity : std::nextafter(sorted[first], infinity);
        const float low = !one && last == count - 1 ? -infinity : sorted[last];

        Stretch between = part(low, high);
        if (!one && between.values.size() > m_stretch.values.size() / 4 * 3)
            return Outcome::TooWide;
        // The shorter side is summed, the other follows.
        const double betweenMass = massOf(between);
        std::size_t aboveCount = 0;
        double aboveMass = 0.0;
        std::optional<Stretch> above;
        std::optional<Stretch> below;
        if (high != infinity && (first < count / 2 || low == -infinity)) {
            above = part(high, infinity);
            aboveCount = above->values.size();
            aboveMass = massOf(*above);
        } else if (high != infinity) {
            below = part(-infinity, low);
            aboveCount = m_stretch.values.size() - between.values.size() - below->values.size();
            aboveMass = m_mass - betweenMass - massOf(*below);
        }

        if (m_goal.isMet(m_running + aboveMass) && aboveCount > 0) {
            enter(above ? std::move(*above) : part(high, infinity), aboveMass);
            return Outcome::Narrowed;
        }
        pass(aboveCount, aboveMass);
        if (m_goal.isMet(m_running + betweenMass) && !between.values.empty()) {
            m_isUniform = one;
            enter(std::move(between), betweenMass);
            return Outcome::Narrowed;
        }
        const double belowMass = std::max(0.0, m_mass - aboveMass - betweenMass);
        const std::size_t passed = aboveCount + between.values.size();
        pass(between.values.size(), betweenMass);
        if (passed >= m_stretch.values.size())
            return Outcome::Beyond;
        enter(below ? std::move(*below) : part(-infinity, low), belowMass);
        return Outcome::Narrowed;
    }

    /// All of the stretch have one logit: their running sums are multiples.
    std::optional<MassPoint> withinUniform() const
    {
        const std::size_t n = m_stretch.values.size();
        const double weight = m_weights.weightOf(m_stretch.values.front());
        std::size_t low = 0;
        std::size_t high = n - 1; // met with this one at the latest, but for rounding
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (m_goal.isMet(m_running + static_cast<double>(middle + 1) * weight))
                high = middle;
            else
                low = middle + 1;
        }
        return MassPoint{m_stretch.indexOf(low), m_stretch.values[low], m_count + low + 1,
                         m_running + static_cast<double>(low + 1) * weight};
    }

    std::optional<MassPoint> walk() const
    {
        std::vector<Candidate> items(m_stretch.values.size());
        for (std::size_t i = 0; i < items.size(); ++i)
            items[i] = {TokenId(m_stretch.indexOf(i)), m_stretch.values[i]};
        std::sort(items.begin(), items.end(), InDescendingOrder());
        double running = m_running;
        for (std::size_t i = 0; i < items.size(); ++i) {
            running += m_weights.weightOf(items[i].logit);
            if (m_goal.isMet(running))
                return MassPoint{items[i].id.value(), items[i].logit, m_count + i + 1, running};
        }
        if (items.empty() || running <= m_running || !m_goal.isMet(m_running + m_mass))
            return std::nullopt;
        // The sum of the stretch met it, by a rounding error.
        return MassPoint{items.back().id.value(), items.back().logit, m_count + items.size(), running};
    }

    const SoftmaxWeights &m_weights;
    const MassGoal m_goal;
    Stretch m_stretch;        ///< in which the goal is met
    double m_mass = 0.0;      ///< of m_stretch
    std::size_t m_count = 0;  ///< entries in front of it
    double m_running = 0.0;   ///< their weights
    bool m_isUniform = false; ///< all logits of m_stretch are equal
};

} // namespace

std::optional<MassPoint> findMass(std::span<const float> logits, const SoftmaxWeights &weights, MassGoal goal)
{
    return Search(logits, weights, goal).run();
}

} // namespace tokenloupe
