// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"

#include <QString>

namespace tokenloupe {

/// A model or settings that the engine did not take: why, what was asked for, and what can be had instead.
struct EngineFailure
{
    QString message;                ///< empty: cancelled, or a newer command took its place
    SessionSettings settings;       ///< that were asked for
    ModelLoadOptions options;       ///< of the model, likewise
    std::uint32_t deviceLayers = 0; ///< that the device has room for; 0: none, or that is not the reason

    /// What was asked for, with as many layers on the device as have room.
    SessionSettings withFewerLayers() const;
};

EngineFailure failureOf(const Error &error, const SessionSettings &settings, const ModelLoadOptions &options);

} // namespace tokenloupe
