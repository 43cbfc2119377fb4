// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tokenloupe {

/// What a forward pass spends its time on. Sums of rows count with the norms that read them, the routes to
/// experts with the products.
enum class Operation : std::uint8_t {
    Embedding,
    Norm,
    Product,
    RotaryStore, ///< turning queries and keys, storing keys and values
    Attention,
    Activation,
    Head, ///< the product that gives the logits
    Copy, ///< of results, from the device to the host
};
constexpr std::size_t operationCount = 8;

enum class Measuring : bool { Off, On };

/// Milliseconds of each operation. All zero: nothing was measured.
struct OperationTimes
{
    std::array<float, operationCount> ms{};

    float of(Operation operation) const { return ms[static_cast<std::size_t>(operation)]; }
    void add(Operation operation, float milliseconds)
    {
        ms[static_cast<std::size_t>(operation)] += milliseconds;
    }
    float total() const { return std::accumulate(ms.begin(), ms.end(), 0.0F); }
    bool isMeasured() const { return total() > 0.0F; }
    bool operator==(const OperationTimes &) const = default;
};

} // namespace tokenloupe
