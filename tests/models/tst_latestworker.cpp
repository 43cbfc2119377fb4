// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "widgets/models/latestworker.h"

#include <QRegularExpression>
#include <QTest>
#include <future>
#include <memory>
#include <vector>

using namespace tokenloupe;

class TestLatestWorker : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void worksOnAThreadOfItsOwn()
    {
        std::promise<std::thread::id> worked;
        LatestWorker<int> worker([&](int &) { worked.set_value(std::this_thread::get_id()); });
        worker.post(1);
        QVERIFY(worked.get_future().get() != std::this_thread::get_id());
    }

    void aWaitingJobIsReplacedByANewerOne()
    {
        std::promise<void> began, goOn, last;
        std::vector<int> seen;
        LatestWorker<int> worker([&](int &job) {
            seen.push_back(job);
            if (job == 1) {
                began.set_value();
                goOn.get_future().wait();
            }
            if (job == 5)
                last.set_value();
        });
        worker.post(1);
        began.get_future().wait();
        for (int job = 2; job <= 5; ++job)
            worker.post(job);
        goOn.set_value();
        last.get_future().wait();
        QCOMPARE(seen, (std::vector<int>{1, 5}));
    }

    void destructionWaitsForTheJobThatIsBeingWorkedOn()
    {
        std::promise<void> began, goOn;
        std::vector<int> ended;
        auto worker = std::make_unique<LatestWorker<int>>([&](int &job) {
            began.set_value();
            goOn.get_future().wait();
            ended.push_back(job);
        });
        worker->post(1);
        began.get_future().wait();
        const std::jthread release([&] { goOn.set_value(); });
        worker.reset();
        QCOMPARE(ended, std::vector<int>{1});
    }

    void anIdleOneEndsAtOnce()
    {
        int worked = 0;
        {
            const LatestWorker<int> worker([&](int &) { ++worked; });
        }
        QCOMPARE(worked, 0);
    }

    void jobsMayBeMoveOnly()
    {
        std::promise<int> got;
        LatestWorker<std::unique_ptr<int>> worker([&](std::unique_ptr<int> &job) { got.set_value(*job); });
        worker.post(std::make_unique<int>(7));
        QCOMPARE(got.get_future().get(), 7);
    }
};

TOKENLOUPE_TEST_MAIN(TestLatestWorker)
#include "tst_latestworker.moc"
