// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/commandset.h"
#include "engine/session/session.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tokenloupe::cli {

/// --threads --context --kv-type-k --kv-type-v --kv-block --precision --quantize --backend --device-layers
struct SessionOptions
{
    std::uint32_t threads = 0;
    std::uint32_t context = 0;
    std::string keyType = "f32";
    std::string valueType = "f32";
    std::uint32_t blockTokens = 16;
    std::string precision = "fast";
    std::string quantize = "stored";
    std::string backend = "cpu";
    std::optional<std::uint32_t> deviceLayers;

    void addTo(CLI::App &command);
    /// Values that the parser let through but the engine does not know: InvalidArgument, which is wrong
    /// usage.
    Result<SessionSettings> settings() const;
    /// "stored" where settings() would complain.
    ModelLoadOptions loadOptions() const;
};

/// Loads with a progress meter, prints warnings. Nothing: `status` says how to end.
std::shared_ptr<const LoadedModel> loadModelShowing(CommandSet &set, const std::string &path,
                                                    const ModelLoadOptions &options, ExitStatus &status);
/// Says on which device a session runs, and why not on the one that was asked for.
void tellBackend(CommandSet &set, const Session &session);
/// A session of it; on the CPU where there is no such backend.
std::unique_ptr<Session> openSession(CommandSet &set, std::shared_ptr<const LoadedModel> model,
                                     const SessionSettings &settings, ExitStatus &status);
/// InvalidArgument naming the first id that the vocabulary does not have.
Status checkIds(const LoadedModel &model, const std::vector<TokenId> &ids);

} // namespace tokenloupe::cli
