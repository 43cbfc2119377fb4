// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/commandset.h"
#include "engine/estimate/estimate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe::cli {

struct EstimateOptions
{
    Format format = Format::Text;
    std::string model;
    std::string shape; ///< file or built-in name
    std::uint64_t context = 4096;
    std::uint64_t batch = 1;
    std::uint64_t microBatch = 0;
    std::string keyType = "f16";
    std::string valueType = "f16";
    std::string weights = "stored";
    std::vector<std::string> gpus;
    std::string vram;
    std::string hostMemory;
    bool thisMachine = false;
    bool measure = false;
    std::string flashAttention = "on";
    std::string layout = "paged";
    std::uint32_t blockTokens = 16;
    std::uint32_t beams = 1;
    std::uint64_t promptTokens = 0;
    std::string draft;
    std::string draftWeights = "stored";
    std::string split = "layers";
    std::uint32_t threads = 0;
    bool table = false;
    bool listGpus = false;
    bool listShapes = false;

    void addTo(CLI::App &command);
    /// Options that exclude one another, or that miss one: what is wrong with them; empty when nothing is.
    std::string conflict() const;
    bool isForThisProgram() const { return thisMachine || (gpus.empty() && vram.empty()); }
};

/// "24GiB", "24 GB", "1e9" no: digits with an optional unit. InvalidArgument names what was found.
Result<std::uint64_t> bytesOf(std::string_view text);

/// The catalogue with the user's own file, when there is one.
Result<GpuCatalogue> userCatalogue();

/// What was asked for, shape read and cards found. `isUsage`: the error is about an option, not about a file
/// or a card.
struct RequestError
{
    Error error;
    bool isUsage = false;
};
tl::expected<EstimateRequest, RequestError> estimateRequest(const EstimateOptions &options);

/// The option whose value the engine refused; empty when the error is about something else.
std::string optionOf(const Error &error);

} // namespace tokenloupe::cli
