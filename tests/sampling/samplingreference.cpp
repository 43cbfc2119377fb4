// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sampling/samplingreference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace tokenloupe::test {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();
constexpr double largestFloat = std::numeric_limits<float>::max();
constexpr double closeness = 1e-6;

void sortList(ReferenceList &list)
{
    std::sort(list.begin(), list.end(), [](const ReferenceToken &a, const ReferenceToken &b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    });
}

float clamped(double value)
{
    return static_cast<float>(std::clamp(value, -largestFloat, largestFloat));
}

struct ReferenceStage
{
    ReferenceResult &result;
    std::span<const TokenId> history;

    void operator()(const LogitBiasParams &params) const
    {
        for (const auto &[id, bias] : params.biases) {
            for (ReferenceToken &token : result.list) {
                if (token.id == id.value() && token.logit != minusInfinity)
                    token.logit = bias == minusInfinity ? std::numeric_limits<float>::quiet_NaN()
                                                        : clamped(double(token.logit) + double(bias));
            }
        }
        std::erase_if(result.list, [](const ReferenceToken &token) { return std::isnan(token.logit); });
    }
    void operator()(const PenaltiesParams &params) const
    {
        std::map<std::uint32_t, int> counts;
        const std::size_t window = params.lastN < 0 ? history.size() : std::size_t(params.lastN);
        for (std::size_t i = history.size() > window ? history.size() - window : 0; i < history.size(); ++i)
            ++counts[history[i].value()];
        for (ReferenceToken &token : result.list) {
            const auto found = counts.find(token.id);
            if (found == counts.end() || token.logit == minusInfinity)
                continue;
            double value = token.logit;
            value = value > 0 ? value / double(params.repeat) : value * double(params.repeat);
            token.logit = clamped(value - found->second * double(params.frequency) - double(params.presence));
        }
    }
    void operator()(const TopKParams &params) const
    {
        if (result.list.size() > std::size_t(params.k))
            result.list.resize(std::size_t(params.k));
    }
    void operator()(const TopPParams &params) const
    {
        const std::vector<double> p = referenceSoftmax(result.list);
        double running = 0.0;
        for (std::size_t i = 0; i < p.size(); ++i) {
            running += p[i];
            if (std::abs(running - double(params.p)) < closeness)
                result.closeCall = true;
            if (running >= double(params.p)) {
                result.list.resize(i + 1);
                return;
            }
        }
    }
    void operator()(const MinPParams &params) const
    {
        const double threshold = double(result.list.front().logit) + std::log(double(params.p));
        std::erase_if(result.list,
                      [threshold](const ReferenceToken &token) { return double(token.logit) < threshold; });
    }
    void operator()(const TemperatureParams &params) const
    {
        const bool overflows = std::isinf(result.list.front().logit / params.temperature);
        if (params.temperature <= 0.0F || overflows) {
            result.list.resize(1);
            return;
        }
        for (ReferenceToken &token : result.list)
            token.logit = token.logit / params.temperature;
    }
};

} // namespace

ReferenceResult referenceFilter(std::span<const float> logits, std::span<const TokenId> history,
                                const SamplerSettings &settings)
{
    ReferenceResult result;
    for (std::size_t i = 0; i < logits.size(); ++i)
        result.list.push_back({std::uint32_t(i), std::isnan(logits[i]) ? minusInfinity : logits[i]});
    sortList(result.list);
    for (const StageSettings &stage : settings.stages) {
        if (stage.isActive())
            std::visit(ReferenceStage{result, history}, stage.params);
        sortList(result.list);
    }
    return result;
}

std::vector<double> referenceSoftmax(const ReferenceList &list)
{
    double maximum = list.front().logit;
    for (const ReferenceToken &token : list)
        maximum = std::max(maximum, double(token.logit));
    std::vector<double> p;
    double sum = 0.0;
    for (const ReferenceToken &token : list) {
        p.push_back(std::exp(double(token.logit) - maximum));
        sum += p.back();
    }
    for (double &value : p)
        value /= sum;
    return p;
}

std::string shapeName(LogitShape shape)
{
    switch (shape) {
    case LogitShape::Gaussian:
        return "gaussian";
    case LogitShape::Peaked:
        return "peaked";
    case LogitShape::Ties:
        return "ties";
    case LogitShape::Holes:
        return "holes";
    case LogitShape::Huge:
        return "huge";
    case LogitShape::Tiny:
        return "tiny";
    }
    return {};
}

std::vector<float> randomLogits(std::uint64_t seed, std::size_t n, LogitShape shape)
{
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0.0F, 3.0F);
    std::vector<float> logits(n);
    for (std::size_t i = 0; i < n; ++i) {
        const float value = normal(random);
        switch (shape) {
        case LogitShape::Gaussian:
            logits[i] = value;
            break;
        case LogitShape::Peaked:
            logits[i] = random() % 997 == 0 ? 14.0F + value : value * 0.5F;
            break;
        case LogitShape::Ties:
            logits[i] = static_cast<float>(random() % 8) - 2.0F;
            break;
        case LogitShape::Holes:
            logits[i] =
                i % 3 == 1 ? minusInfinity : (i % 7 == 2 ? std::numeric_limits<float>::quiet_NaN() : value);
            break;
        case LogitShape::Huge:
            logits[i] = std::clamp(value / 9.0F, -1.0F, 1.0F) * 3e38F;
            break;
        case LogitShape::Tiny:
            logits[i] = value * 1e-42F;
            break;
        }
    }
    return logits;
}

std::vector<TokenId> randomHistory(std::uint64_t seed, std::size_t length, std::size_t vocabulary)
{
    std::mt19937_64 random(seed);
    std::vector<TokenId> history;
    for (std::size_t i = 0; i < length; ++i) // half of it from a few tokens, so that counts rise above 1
        history.push_back(
            TokenId(std::uint32_t(random() % (i % 2 ? std::min<std::size_t>(vocabulary, 16) : vocabulary))));
    return history;
}

SamplerSettings randomSettings(std::uint64_t seed, std::size_t vocabulary)
{
    std::mt19937_64 random(seed);
    const auto pick = [&random](auto... values) {
        const std::common_type_t<decltype(values)...> list[] = {values...};
        return list[random() % sizeof...(values)];
    };
    SamplerSettings settings;
    settings.seed = random();
    LogitBiasParams bias;
    for (int i = pick(0, 0, 2, 5); i > 0; --i)
        bias.biases.emplace_back(TokenId(std::uint32_t(random() % vocabulary)),
                                 pick(-1.5F, 4.0F, -3.25F, minusInfinity));
    // The first token is never banned, so that one stays.
    std::erase_if(bias.biases,
                  [](const auto &entry) { return entry.first == TokenId(0) && std::isinf(entry.second); });
    std::map<TokenId, float> once(bias.biases.begin(), bias.biases.end());
    bias.biases.assign(once.begin(), once.end());
    settings.stages = {
        {bias},
        {PenaltiesParams{pick(64, 0, -1, 5), pick(1.0F, 1.3F, 0.8F), pick(0.0F, 0.5F),
                         pick(0.0F, 0.25F, -0.1F)}},
        {TopKParams{pick(0, 1, 5, 40, 1000)}},
        {TopPParams{pick(1.0F, 0.95F, 0.5F, 0.0F)}},
        {MinPParams{pick(0.0F, 0.05F, 0.3F, 1.0F)}},
        {TemperatureParams{pick(1.0F, 0.8F, 1.7F, 0.3F, 0.0F, 1e-30F)}},
    };
    std::shuffle(settings.stages.begin(), settings.stages.end(), random);
    for (StageSettings &stage : settings.stages) {
        if (random() % 4 == 0)
            stage.state = StageSwitch::Off;
    }
    return settings;
}

} // namespace tokenloupe::test
