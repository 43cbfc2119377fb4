// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/contextoutlook.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

namespace {

struct ContextOutlookText
{
    Q_DECLARE_TR_FUNCTIONS(ContextOutlookText)
};

QString consequence(const ContextOutlook &outlook)
{
    switch (outlook.overflow) {
    case OverflowPolicy::Stop:
        return ContextOutlookText::tr("the reply will stop there");
    case OverflowPolicy::DropTurns:
        return ContextOutlookText::tr("the oldest turns will go");
    case OverflowPolicy::Streaming:
        return outlook.sinkTokens == 0
                   ? ContextOutlookText::tr("the oldest tokens will go")
                   : ContextOutlookText::tr("the oldest tokens after the first %1 will go")
                         .arg(outlook.sinkTokens);
    }
    return {};
}

} // namespace

QString contextWarning(const ContextOutlook &outlook)
{
    if (outlook.contextTokens == 0 || outlook.maxSteps == 0)
        return {};
    // the last step that still finds all tokens before it in the context
    const std::uint64_t room = outlook.contextTokens - std::min(outlook.tokens, outlook.contextTokens);
    const std::uint64_t last = outlook.steps + room;
    if (last >= outlook.maxSteps)
        return {};
    return ContextOutlookText::tr("Context ends at step %1 of %2: %3")
        .arg(formatCount(last), formatCount(outlook.maxSteps), consequence(outlook));
}

} // namespace tokenloupe
