// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/enginestatetext.h"

#include <QCoreApplication>

namespace tokenloupe {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("tokenloupe::EngineState", text);
}

} // namespace

QString engineBusyReason(EngineState state)
{
    switch (state) {
    case EngineState::NoModel:
        return tr("Open the model first (Ctrl+O).");
    case EngineState::Loading:
        return tr("A model is being loaded.");
    case EngineState::Prefilling:
        return tr("The prompt is being read.");
    case EngineState::Running:
        return tr("Pause or stop the reply first (F6).");
    case EngineState::Measuring:
        return tr("The reply is being measured without its cache.");
    case EngineState::Comparing:
        return tr("The precisions are being compared.");
    case EngineState::TraceOnly:
        return tr("The device is lost: go on with the CPU.");
    case EngineState::Idle:
    case EngineState::Paused:
        break;
    }
    return {};
}

} // namespace tokenloupe
