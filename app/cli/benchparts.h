// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/sessionoptions.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tokenloupe::cli {

struct BenchOptions
{
    Format format = Format::Text;
    std::string model;
    std::uint32_t prompt = 512;
    std::uint32_t predict = 128;
    std::uint32_t repetitions = 5;
    std::uint32_t depth = 0;
    bool sampler = false;
    std::optional<std::string> tokenizerFile;
    bool trace = false;
    SessionOptions session;
};

/// Token ids that differ from one another in a fixed order.
std::vector<TokenId> benchTokens(std::uint32_t count, std::uint32_t vocabulary);
double medianOf(std::vector<double> values); ///< 0 of none
std::shared_ptr<const SamplerSettings> greedySettings();
/// Tokens per second of `predict` steps that each do a forward pass, after `depth` tokens (at least one).
Result<double> decodeSpeed(Session &session, const StepRequest &request, const BenchOptions &options,
                           const std::stop_token &stop);

ExitStatus benchSampler(CommandSet &set, const BenchOptions &options);
ExitStatus benchTokenizer(CommandSet &set, const BenchOptions &options);
ExitStatus benchTrace(CommandSet &set, const BenchOptions &options, SessionSettings settings);

} // namespace tokenloupe::cli
