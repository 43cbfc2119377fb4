// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/deviceadvice.h"

#include <QCoreApplication>

namespace tokenloupe {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("tokenloupe::DeviceAdvice", text);
}

} // namespace

Message fallbackMessage(const EngineStatus &status)
{
    Message message;
    message.kind = MessageKind::Warning;
    message.what = tr("The model runs on the CPU.");
    message.why = status.fallbackReason;
    message.advice = tr("The device stays chosen: it is tried again with the next model.");
    return message;
}

Message deviceLostMessage(const QString &error)
{
    Message message;
    message.kind = MessageKind::Error;
    message.what = tr("The device is lost.");
    message.why =
        tr("Nothing more can be computed on it; chat and trace stay, and every step can be looked at.");
    message.details = error;
    message.action = tr("Go on with the CPU");
    return message;
}

Message remarkMessage(const QString &remark)
{
    Message message;
    message.kind = MessageKind::Info;
    message.what = tr("The device works less well than it could.");
    message.why = remark;
    return message;
}

} // namespace tokenloupe
