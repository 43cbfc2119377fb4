// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/enginefailure.h"

namespace tokenloupe {

SessionSettings EngineFailure::withFewerLayers() const
{
    SessionSettings fewer = settings;
    fewer.deviceLayers = deviceLayers;
    return fewer;
}

EngineFailure failureOf(const Error &error, const SessionSettings &settings, const ModelLoadOptions &options)
{
    EngineFailure failure;
    if (error.code != ErrorCode::Cancelled)
        failure.message = QString::fromStdString(error.text());
    failure.settings = settings;
    failure.options = options;
    failure.deviceLayers = error.deviceLayers;
    return failure;
}

} // namespace tokenloupe
