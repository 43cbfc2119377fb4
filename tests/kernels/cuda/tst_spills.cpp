// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/cuda/resourcereport.h"
#include "tests/support/testmain.h"

#include <QFile>

using namespace tokenloupe::test;

/// Kernels that run for every token keep their values in registers: the compiler's report says so.
class TestSpills : public QObject
{
    Q_OBJECT

private slots:
    void readsReport();
    void findsSpills();
    void prefillMaySpill();
    void wantsToKnow();
    void noKernelForDecodingSpills();
};

namespace {

const QString twoKernels =
    QStringLiteral("ptxas info    : 0 bytes gmem\n"
                   "ptxas info    : Compiling entry function '_ZN4lens12decodeKernelEv' for 'sm_75'\n"
                   "ptxas info    : Function properties for _ZN4lens12decodeKernelEv\n"
                   "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                   "ptxas info    : Used 255 registers, used 1 barriers, 424 bytes cmem[0]\n"
                   "ptxas info    : Compiling entry function '_ZN4lens13prefillKernelEv' for 'sm_90'\n"
                   "ptxas info    : Function properties for _ZN4lens13prefillKernelEv\n"
                   "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
                   "ptxas info    : Used 128 registers, used 1 barriers\n");

#ifdef TOKENLOUPE_RESOURCE_REPORTS
QString contentOf(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}
#endif

} // namespace

void TestSpills::readsReport()
{
    const std::vector<FunctionResources> functions = parseResources(twoKernels);
    QCOMPARE(functions.size(), std::size_t(2));
    QCOMPARE(functions[0].name, QStringLiteral("lens::decodeKernel()"));
    QCOMPARE(functions[0].architecture, QStringLiteral("sm_75"));
    QCOMPARE(functions[0].stackBytes, 16);
    QCOMPARE(functions[0].spilledBytes, 20);
    QCOMPARE(functions[0].registers, 255);
    QCOMPARE(functions[1].name, QStringLiteral("lens::prefillKernel()"));
    QCOMPARE(functions[1].architecture, QStringLiteral("sm_90"));
    QCOMPARE(functions[1].spilledBytes, 8);
    QCOMPARE(functions[1].registers, 128);
}

void TestSpills::findsSpills()
{
    QCOMPARE(spillsOf(parseResources(twoKernels)),
             QStringList{QStringLiteral("lens::decodeKernel() for sm_75: 20 bytes spilled")});
}

void TestSpills::prefillMaySpill()
{
    const std::vector<FunctionResources> functions = parseResources(twoKernels);
    QVERIFY(isForDecoding(functions[0]));
    QVERIFY(!isForDecoding(functions[1]));
}

void TestSpills::wantsToKnow()
{
    const QString cut = twoKernels.section(QLatin1Char('\n'), 0, 2);
    QCOMPARE(spillsOf(parseResources(cut)),
             QStringList{
                 QStringLiteral("lens::decodeKernel() for sm_75: the report does not tell what it spills")});
}

void TestSpills::noKernelForDecodingSpills()
{
#ifndef TOKENLOUPE_RESOURCE_REPORTS
    QSKIP("no CUDA compiler: no kernel was compiled for a device");
#else
    const QStringList reports =
        contentOf(QStringLiteral(TOKENLOUPE_RESOURCE_REPORTS)).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QVERIFY2(!reports.isEmpty(), "the list of reports is empty");
    QStringList spills;
    std::size_t decoding = 0;
    for (const QString &path : reports) {
        const QString report = contentOf(path);
        QVERIFY2(!report.isEmpty(), qPrintable(path));
        const std::vector<FunctionResources> functions = parseResources(report);
        for (const FunctionResources &function : functions)
            decoding += isForDecoding(function) ? 1U : 0U;
        spills += spillsOf(functions);
    }
    QVERIFY(decoding > 0);
    QVERIFY2(spills.isEmpty(), qPrintable(spills.join(QLatin1Char('\n'))));
#endif
}

TOKENLOUPE_TEST_MAIN(TestSpills)
#include "tst_spills.moc"
