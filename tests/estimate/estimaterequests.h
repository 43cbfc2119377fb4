// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

#include <memory>
#include <utility>

namespace tokenloupe::test {

inline constexpr std::uint64_t gibibyte = std::uint64_t(1) << 30;

inline EstimateRequest requestFor(ModelShape shape)
{
    EstimateRequest request;
    request.shape = std::make_shared<ModelShape>(std::move(shape));
    request.weightType = "F16";
    request.capacityBytes = 24 * gibibyte;
    return request;
}

inline EstimateRequest builtIn(const char *name)
{
    return requestFor(*builtInShape(name));
}

inline Gpu card(const char *name, double gib)
{
    Gpu gpu;
    gpu.name = name;
    gpu.memoryBytes = static_cast<std::uint64_t>(gib * static_cast<double>(gibibyte));
    gpu.bandwidth = 1000e9;
    gpu.halfFlops = 100e12;
    return gpu;
}

} // namespace tokenloupe::test
