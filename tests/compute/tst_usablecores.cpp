// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/usablecores.h"

#include "engine/compute/backend.h"
#include "tests/support/testmain.h"

#include <QTemporaryDir>
#include <fstream>
#include <sched.h>

using namespace tokenloupe;
namespace fs = std::filesystem;

class TestUsableCores : public QObject
{
    Q_OBJECT

private slots:
    void readsQuotas_data();
    void readsQuotas();
    void respectsAffinity();
};

void TestUsableCores::readsQuotas_data()
{
    QTest::addColumn<QString>("membership");
    QTest::addColumn<QStringList>("files"); // "path=content"
    QTest::addColumn<double>("cores");      // 0: no limit
    const QStringList none;
    const QString v2 = QStringLiteral("0::/a/b\n");
    QTest::newRow("no files") << v2 << none << 0.0;
    QTest::newRow("no limit") << v2 << QStringList{QStringLiteral("a/b/cpu.max=max 100000")} << 0.0;
    QTest::newRow("own limit") << v2 << QStringList{QStringLiteral("a/b/cpu.max=150000 100000")} << 1.5;
    QTest::newRow("the parent's is less")
        << v2
        << QStringList{QStringLiteral("a/b/cpu.max=400000 100000"), QStringLiteral("a/cpu.max=200000 100000")}
        << 2.0;
    QTest::newRow("the root's, as in a container")
        << QStringLiteral("0::/\n") << QStringList{QStringLiteral("cpu.max=300000 100000")} << 3.0;
    QTest::newRow("version 1") << QStringLiteral("5:memory:/x\n4:cpuacct,cpu:/x\n")
                               << QStringList{QStringLiteral("cpu/x/cpu.cfs_quota_us=50000"),
                                              QStringLiteral("cpu/x/cpu.cfs_period_us=100000")}
                               << 0.5;
    QTest::newRow("version 1 without limit") << QStringLiteral("4:cpu:/x\n")
                                             << QStringList{QStringLiteral("cpu/x/cpu.cfs_quota_us=-1"),
                                                            QStringLiteral("cpu/x/cpu.cfs_period_us=100000")}
                                             << 0.0;
    QTest::newRow("nonsense") << QStringLiteral("::\nwhat\n0::/../../a\n")
                              << QStringList{QStringLiteral("a/cpu.max=? !")} << 0.0;
    QTest::newRow("period of 0") << v2 << QStringList{QStringLiteral("a/b/cpu.max=1000 0")} << 0.0;
}

void TestUsableCores::readsQuotas()
{
    QFETCH(QString, membership);
    QFETCH(QStringList, files);
    QFETCH(double, cores);
    QTemporaryDir folder;
    QVERIFY(folder.isValid());
    const fs::path root = folder.path().toStdString();
    std::ofstream(root / "membership") << membership.toStdString();
    for (const QString &file : files) {
        const fs::path path = root / file.section(u'=', 0, 0).toStdString();
        fs::create_directories(path.parent_path());
        std::ofstream(path) << file.section(u'=', 1).toStdString() << '\n';
    }
    const std::optional<double> granted = cgroupCores(root / "membership", root);
    QCOMPARE(granted.has_value(), cores > 0.0);
    if (granted)
        QCOMPARE(*granted, cores);
}

void TestUsableCores::respectsAffinity()
{
    const int before = usableCores();
    QVERIFY(before >= 1);
    cpu_set_t all;
    CPU_ZERO(&all);
    QCOMPARE(sched_getaffinity(0, sizeof(all), &all), 0);
    QVERIFY(before <= CPU_COUNT(&all));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    QCOMPARE(sched_setaffinity(0, sizeof(one), &one), 0);
    const int pinned = usableCores();
    const auto backend = makeCpuBackend(0);
    QCOMPARE(sched_setaffinity(0, sizeof(all), &all), 0);
    QCOMPARE(pinned, 1);
    QVERIFY(backend);
    QCOMPARE((*backend)->threads(), 1);
}

TOKENLOUPE_TEST_MAIN(TestUsableCores)
#include "tst_usablecores.moc"
