// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/tracemailbox.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <atomic>
#include <thread>

using namespace tokenloupe;

namespace {

StepRecord record(std::uint32_t run, std::uint32_t step)
{
    StepRecord result;
    result.ref = {RunId(run), StepIndex(step)};
    result.token = TokenId(step * 7 + run);
    return result;
}

} // namespace

class TestTraceMailbox : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void endReasons()
    {
        QVERIFY(endReasonName(EndReason::Stop) == "stop");
        QVERIFY(endReasonName(EndReason::Length) == "length");
        QVERIFY(endReasonName(EndReason::Context) == "context");
        QVERIFY(endReasonName(EndReason::Cancelled) == "cancelled");
    }

    void everyKindInOrder()
    {
        TraceMailbox mailbox;
        RunRecord run;
        run.run = RunId(3);
        run.prompt = {TokenId(1), TokenId(2)};
        mailbox.post(run);
        mailbox.post(record(3, 0));
        mailbox.post(RunTruncated{RunId(3), StepIndex(0)});
        mailbox.post(RunEnded{RunId(3), EndReason::Length});

        std::vector<TraceEvent> events(5); // old content, which must go
        mailbox.take(events);
        QCOMPARE(events.size(), std::size_t(4));
        QCOMPARE(std::get<RunRecord>(events[0]).prompt.size(), std::size_t(2));
        QCOMPARE(std::get<StepRecord>(events[1]).token.value(), 3U);
        QVERIFY(std::get<RunTruncated>(events[2]).from == StepIndex(0));
        QVERIFY(std::get<RunEnded>(events[3]).reason == EndReason::Length);

        mailbox.take(events);
        QVERIFY(events.empty());
        mailbox.post(record(3, 1));
        mailbox.clear();
        mailbox.take(events);
        QVERIFY(events.empty());
    }

    void memoryGoesBackAndForth()
    {
        TraceMailbox mailbox;
        std::vector<TraceEvent> events;
        events.reserve(1000);
        const auto *memory = events.data();
        mailbox.take(events);
        mailbox.post(record(0, 0));
        mailbox.take(events);
        QCOMPARE(events.data(), memory);
    }

    void nothingIsLostBetweenThreads()
    {
        TraceMailbox mailbox;
        constexpr std::uint32_t steps = 20000;
        std::atomic<bool> done{false};
        std::thread engine([&] {
            for (std::uint32_t i = 0; i < steps; ++i)
                mailbox.post(record(1, i));
            done.store(true, std::memory_order_release);
        });
        std::uint32_t expected = 0, batches = 0;
        bool inOrder = true;
        std::vector<TraceEvent> events;
        for (bool last = false; !last;) {
            last = done.load(std::memory_order_acquire); // what was posted before is taken below
            mailbox.take(events);
            batches += events.empty() ? 0 : 1;
            for (const TraceEvent &event : events) {
                const auto &step = std::get<StepRecord>(event);
                inOrder =
                    inOrder && step.ref.step.value() == expected && step.token.value() == expected * 7 + 1;
                ++expected;
            }
        }
        engine.join();
        QVERIFY(inOrder);
        QCOMPARE(expected, steps);
        QVERIFY(batches > 0);
    }
};

TOKENLOUPE_TEST_MAIN(TestTraceMailbox)
#include "tst_tracemailbox.moc"
