// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "widgets/models/commandqueue.h"

#include <QTest>
#include <thread>

using namespace tokenloupe;

class TestCommandQueue : public QObject
{
    Q_OBJECT

    std::vector<int> m_done;

    EngineCommand command(CommandTag tag, int number, int *dropped = nullptr)
    {
        EngineCommand result{
            tag, std::stop_source(), [this, number](std::stop_token) { m_done.push_back(number); }, {}};
        if (dropped)
            result.dropped = [dropped] { ++*dropped; };
        return result;
    }

    void workAll(CommandQueue &queue)
    {
        while (auto next = queue.next(CommandQueue::Wait::No)) {
            next->work(next->stop.get_token());
            queue.finished();
        }
    }

private Q_SLOTS:
    void init() { m_done.clear(); }

    void newerReplacesWaitingOfItsTag()
    {
        CommandQueue queue;
        int dropped = 0;
        queue.post(command(CommandTag::Reply, 1, &dropped));
        queue.post(command(CommandTag::Sampler, 2));
        queue.post(command(CommandTag::Reply, 3, &dropped));
        workAll(queue);
        QCOMPARE(m_done, (std::vector{2, 3}));
        QCOMPARE(dropped, 1);
    }

    void newerStopsTheOneAtWork()
    {
        CommandQueue queue;
        queue.post(command(CommandTag::Model, 1));
        auto working = queue.next(CommandQueue::Wait::No);
        QVERIFY(working);
        queue.post(command(CommandTag::Sampler, 2));
        QVERIFY(!working->stop.stop_requested());
        queue.post(command(CommandTag::Model, 3));
        QVERIFY(working->stop.stop_requested());
        queue.finished();
        auto next = queue.next(CommandQueue::Wait::No);
        QVERIFY(!next->stop.stop_requested());
    }

    void cancelStopsLongWorkOnly()
    {
        CommandQueue queue;
        int dropped = 0;
        queue.post(command(CommandTag::Reply, 1));
        auto working = queue.next(CommandQueue::Wait::No);
        queue.post(command(CommandTag::Model, 2, &dropped));
        queue.post(command(CommandTag::Sampler, 3, &dropped));
        queue.cancel({CommandTag::Model, CommandTag::Reply});
        QVERIFY(working->stop.stop_requested());
        QCOMPARE(dropped, 1);
        queue.finished();
        workAll(queue);
        QCOMPARE(m_done, std::vector{3});
    }

    void cancelLeavesOtherTagsAlone()
    {
        CommandQueue queue;
        int dropped = 0;
        queue.post(command(CommandTag::Model, 1));
        auto working = queue.next(CommandQueue::Wait::No);
        queue.post(command(CommandTag::Reply, 2, &dropped));
        queue.cancel({CommandTag::Reply, CommandTag::Control});
        QVERIFY(!working->stop.stop_requested());
        QCOMPARE(dropped, 1);
    }

    void closeWakesAWaitingThread()
    {
        CommandQueue queue;
        bool gave = true;
        std::jthread waiter([&] { gave = queue.next(CommandQueue::Wait::Yes).has_value(); });
        queue.close();
        waiter.join();
        QVERIFY(!gave);
        QVERIFY(queue.isClosed());
    }
};

TOKENLOUPE_TEST_MAIN(TestCommandQueue)
#include "tst_commandqueue.moc"
