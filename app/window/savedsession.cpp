// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/savedsession.h"

#include <QSettings>

namespace tokenloupe {

SessionSettings savedSession(const QSettings &settings)
{
    SessionSettings session;
    session.precision =
        settings.value(QStringLiteral("engine/precision")).toString() == QLatin1String("exact")
            ? Precision::Exact
            : Precision::Fast;
    const auto number = [&](const char *name, std::uint32_t fallback) {
        return settings.value(QString(QStringLiteral("engine/") + QLatin1String(name)), fallback).toUInt();
    };
    const auto name = [&](const char *key) {
        return settings.value(QString(QStringLiteral("engine/") + QLatin1String(key)))
            .toString()
            .toStdString();
    };
    session.threads = int(number("threads", 0));
    session.contextTokens = number("context", 0);
    session.batchTokens = number("batch", session.batchTokens);
    session.blockTokens = number("block", session.blockTokens);
    session.sequences = number("sequences", session.sequences);
    session.sinkTokens = number("sinks", session.sinkTokens);
    session.keyType = kvTypeOf(name("keys")).value_or(session.keyType);
    session.valueType = kvTypeOf(name("values")).value_or(session.valueType);
    session.overflow = overflowPolicyOf(name("overflow")).value_or(session.overflow);
    session.backend = backendKindOf(name("backend")).value_or(session.backend);
    session.device = name("device");
    if (const std::uint32_t layers = number("deviceLayers", 0); layers > 0)
        session.deviceLayers = layers;
    return session;
}

void saveSession(QSettings &settings, const SessionSettings &session)
{
    const auto save = [&](const char *name, const QVariant &value) {
        settings.setValue(QString(QStringLiteral("engine/") + QLatin1String(name)), value);
    };
    const auto text = [](std::string_view name) {
        return QString::fromUtf8(name.data(), qsizetype(name.size()));
    };
    save("precision", text(precisionName(session.precision)));
    save("threads", session.threads);
    save("context", session.contextTokens);
    save("batch", session.batchTokens);
    save("block", session.blockTokens);
    save("sequences", session.sequences);
    save("sinks", session.sinkTokens);
    save("keys", text(kvTypeName(session.keyType)));
    save("values", text(kvTypeName(session.valueType)));
    save("overflow", text(overflowPolicyName(session.overflow)));
}

void saveDevice(QSettings &settings, const SessionSettings &session)
{
    const std::string_view backend = backendKindName(session.backend);
    settings.setValue(QStringLiteral("engine/backend"),
                      QString::fromUtf8(backend.data(), qsizetype(backend.size())));
    settings.setValue(QStringLiteral("engine/device"), QString::fromStdString(session.device));
    settings.setValue(QStringLiteral("engine/deviceLayers"), session.deviceLayers.value_or(0)); // 0: all
}

} // namespace tokenloupe
