// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/tinymodel.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/tracepump.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace tokenloupe::test {

/// The engine thread on a tiny random model, and what it recorded.
struct EngineFixture
{
    static constexpr int patience = 60'000; ///< ms, for machines that are busy with other things

    EngineHost host;
    RunStore runs;
    TracePump pump{host.mailbox(), runs};
    QTemporaryDir folder;

    EngineFixture() { QObject::connect(&host, &EngineHost::statusChanged, &pump, &TracePump::pumpNow); }

    static SessionSettings session(std::uint32_t contextTokens)
    {
        SessionSettings settings;
        settings.contextTokens = contextTokens;
        settings.batchTokens = 64;
        settings.threads = 1;
        return settings;
    }

    static TinyModelOptions chatModel(const std::string &name = "tiny")
    {
        TinyModelOptions options;
        options.chatTemplate = tinyChatTemplate;
        options.name = name;
        return options;
    }

    QString write(const TinyModelOptions &options) const
    {
        return QString::fromStdString(writeTinyModel(folder.path().toStdString(), options).string());
    }

    bool open(std::uint32_t contextTokens = 256, const TinyModelOptions &options = chatModel())
    {
        return openWith(session(contextTokens), options);
    }

    bool openWith(const SessionSettings &settings, const TinyModelOptions &options = chatModel())
    {
        QSignalSpy opened(&host, &EngineHost::modelOpened);
        host.openModel(write(options), settings);
        return opened.wait(patience);
    }

    /// A request that never ends by itself before `maxTokens` or the context are reached.
    static ReplyRequest request(const std::string &text, std::uint32_t maxTokens = 0)
    {
        ReplyRequest request;
        request.tag = 42;
        request.messages = {{"user", text}};
        request.sampler = std::make_shared<const SamplerSettings>(SamplerSettings::defaults());
        request.seed = 5;
        request.maxTokens = maxTokens;
        request.ignoreEndOfTurn = true;
        return request;
    }

    bool waitFor(EngineState state)
    {
        return QTest::qWaitFor([&] { return host.status().state == state; }, patience);
    }
    /// Paused before the first token.
    bool replyPaused(const std::string &text, std::uint32_t maxTokens = 0)
    {
        ReplyRequest paused = request(text, maxTokens);
        paused.startPaused = true;
        host.reply(paused);
        return waitFor(EngineState::Paused);
    }
    bool step(int times = 1)
    {
        const std::size_t wanted = run()->steps.size() + std::size_t(times);
        for (int i = 0; i < times; ++i)
            host.step();
        return waitForSteps(wanted);
    }
    bool waitForSteps(std::size_t steps)
    {
        // The status is published with the state only: what was recorded counts.
        return QTest::qWaitFor([&] { return run() && run()->steps.size() >= steps; }, patience);
    }
    const Run *run() const { return runs.run(runs.newestRun()); }
};

} // namespace tokenloupe::test
