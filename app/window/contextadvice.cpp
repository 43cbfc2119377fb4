// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/contextadvice.h"

#include "engine/cache/hostmemory.h"
#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("tokenloupe::ContextAdvice", text);
}

/// The largest doubling of the context, up to what the model was trained for, whose cache has room in the
/// memory that is free now; 0: not even one.
std::uint32_t largerContext(const EngineStatus &status)
{
    // The cache may lie in both memories.
    const std::uint64_t freeHere = availableMemoryBytes();
    const std::uint64_t freeThere = status.deviceMemory ? status.deviceMemory->freeBytes : 0;
    const auto hasRoom = [&](const MemoryPlan &plan) {
        const auto grows = [&](MemoryPlace place) {
            const std::uint64_t now = status.plan.bytesIn(place);
            return plan.bytesIn(place) - std::min(plan.bytesIn(place), now);
        };
        return grows(MemoryPlace::Host) <= freeHere && grows(MemoryPlace::Device) <= freeThere;
    };
    std::uint32_t fits = 0;
    SessionSettings settings = status.session;
    const std::uint32_t trained = status.model->config().contextTrain;
    while (settings.contextTokens < trained) {
        settings.contextTokens = settings.contextTokens > trained / 2 ? trained : settings.contextTokens * 2;
        const auto plan = sessionPlan(*status.model, settings, status.deviceNeeds);
        if (!plan || !hasRoom(*plan))
            break;
        fits = settings.contextTokens;
    }
    return fits;
}

} // namespace

Message contextFullMessage(const EngineStatus &status)
{
    Message message;
    message.kind = MessageKind::Warning;
    message.what = tr("The context of %1 tokens is full: the reply ends here.")
                       .arg(formatCount(status.session.contextTokens));
    if (!status.model)
        return message;
    message.why = tr("The chat is kept.");
    if (const std::uint32_t larger = largerContext(status); larger > 0)
        message.advice =
            tr("A context of %1 tokens would fit this machine; or let the oldest turns or tokens go.")
                .arg(formatCount(larger));
    else
        message.advice = tr("Let the oldest turns or tokens go when it is full.");
    message.action = tr("Context and cache…");
    return message;
}

} // namespace tokenloupe
