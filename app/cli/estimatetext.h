// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/estimatemeasure.h"

#include <optional>
#include <string>

namespace tokenloupe::cli {

/// The answer of `estimate` for programs and for people.
Json estimateJson(const EstimateRequest &request, const Estimate &estimate,
                  const std::optional<MeasuredMemory> &measured);
std::string estimateText(const EstimateRequest &request, const Estimate &estimate,
                         const std::optional<MeasuredMemory> &measured);

Json fitTableJson(const FitTable &table);
std::string fitTableText(const FitTable &table);

Json gpuListJson(const std::vector<Gpu> &gpus);
std::string gpuListText(const std::vector<Gpu> &gpus);

} // namespace tokenloupe::cli
