// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/models/records.h"
#include "tests/support/tinymodel.h"
#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/explanationservice.h"
#include "widgets/models/inspectorcontext.h"
#include "widgets/models/runstore.h"
#include "widgets/models/samplermodel.h"
#include "widgets/models/selectionstate.h"
#include "widgets/models/tracepump.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <vector>

namespace tokenloupe::test {

/// The objects at the seam as the window has them, and runs for panels to show: records made by hand, or
/// those of a tiny random model that the real engine runs.
struct ViewFixture
{
    RunStore runs;
    SelectionState selection{runs};
    EngineHost host;
    ExplanationService explanations{host, runs, selection};
    SamplerModel sampler;
    Conversation conversation{host, runs, sampler};
    TracePump pump{host.mailbox(), runs};
    InspectorContext context{host, runs, selection, explanations, sampler, conversation};
    QTemporaryDir folder;

    /// A run of `steps` steps (see records.h), the last one of them selected and live.
    void addRun(std::uint32_t run, std::uint32_t steps)
    {
        std::vector<TraceEvent> events{runRecord(run)};
        for (std::uint32_t step = 0; step < steps; ++step)
            events.push_back(stepRecord(run, step, 100 + step));
        runs.apply(events);
    }

    bool openTinyModel()
    {
        TinyModelOptions options;
        options.chatTemplate = tinyChatTemplate;
        QSignalSpy opened(&host, &EngineHost::modelOpened);
        SessionSettings settings;
        settings.contextTokens = 128;
        settings.threads = 1;
        host.openModel(QString::fromStdString(writeTinyModel(folder.path().toStdString(), options).string()),
                       settings);
        return opened.wait(20'000);
    }

    /// A reply of the tiny model, to its end.
    bool reply(std::uint32_t tokens)
    {
        ReplyRequest request;
        request.tag = 1;
        request.messages = {{"user", "hello there"}};
        request.sampler = sampler.settings();
        request.maxTokens = tokens;
        request.ignoreEndOfTurn = true;
        QSignalSpy ended(&runs, &RunStore::runEnded);
        host.reply(request);
        return ended.wait(20'000);
    }
};

} // namespace tokenloupe::test
