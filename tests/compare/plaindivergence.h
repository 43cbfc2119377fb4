// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compare/divergence.h"

#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace tokenloupe::test {

/// Softmax as it is written in a book, in long double.
inline std::vector<long double> plainSoftmax(std::span<const float> logits)
{
    long double maximum = -HUGE_VALL;
    for (const float logit : logits)
        maximum = std::max(maximum, static_cast<long double>(logit));
    std::vector<long double> p;
    long double sum = 0.0L;
    for (const float logit : logits) {
        p.push_back(std::exp(static_cast<long double>(logit) - maximum));
        sum += p.back();
    }
    for (long double &value : p)
        value /= sum;
    return p;
}

inline double plainKl(std::span<const float> a, std::span<const float> b)
{
    const auto p = plainSoftmax(a);
    const auto q = plainSoftmax(b);
    long double sum = 0.0L;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] > 0.0L)
            sum += p[i] * std::log(p[i] / q[i]);
    }
    return static_cast<double>(sum);
}

/// Logits as a model gives them: normal, with a few that stand out.
inline std::vector<float> randomRow(std::size_t count, unsigned seed)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0.0F, 3.0F);
    std::vector<float> row(count);
    for (float &value : row)
        value = normal(generator);
    for (std::size_t i = 0; i < count; i += count / 5 + 1)
        row[i] += 12.0F;
    return row;
}

/// The same with a little noise.
inline std::vector<float> disturbed(std::vector<float> row, float size, unsigned seed)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> noise(-size, size);
    for (float &value : row)
        value += noise(generator);
    return row;
}

} // namespace tokenloupe::test
