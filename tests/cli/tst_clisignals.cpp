// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <csignal>
#include <sys/types.h>

using namespace tokenloupe::test;

/// Ctrl+C and readers that go away.
class CliSignalsTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void interruptEndsAfterTheToken();
    void interruptDuringPrefill();
    void closedPipe_data();
    void closedPipe();

private:
    /// A model that goes on for long: the context is far larger than what is drawn before the test is over.
    QString longModel() const
    {
        TinyModelOptions options;
        options.context = 100000;
        options.name = "long";
        return m_cli.model(options);
    }
    CliRunner m_cli;
};

void CliSignalsTest::interruptEndsAfterTheToken()
{
    QProcess process;
    process.start(CliRunner::program(), {"run", longModel(), "--prompt", "once", "--ignore-eos", "--json",
                                         "--context", "100000", "--threads", "1"});
    QVERIFY(process.waitForStarted());
    // The prompt's line and some tokens first.
    QByteArray output;
    while (output.count('\n') < 4) {
        QVERIFY(process.waitForReadyRead(60000));
        output += process.readAllStandardOutput();
    }
    QCOMPARE(::kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
    QVERIFY(process.waitForFinished(60000));
    output += process.readAllStandardOutput();
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 130);
    CliResult result;
    result.output = output;
    const auto lines = result.lines();
    COMPARE_JSON(lines.back()["event"], "end");
    COMPARE_JSON(lines.back()["reason"], "cancelled");
    QCOMPARE(lines.back()["tokens"].get<std::size_t>(), eventsOf(lines, "token").size());
    QCOMPARE(process.readAllStandardError(), QByteArray());
}

void CliSignalsTest::interruptDuringPrefill()
{
    // A prompt that takes long to read: the signal comes while it does, or while the model is loaded.
    QProcess process;
    process.start(CliRunner::program(), {"run", longModel(), "--prompt-file", "-", "--json", "--context",
                                         "100000", "--threads", "1"});
    QVERIFY(process.waitForStarted());
    process.write(QByteArray(80000, 'z'));
    // More than a pipe holds: once all of it is written the program has been reading, its handler long since
    // set up.
    while (process.bytesToWrite() > 0)
        QVERIFY(process.waitForBytesWritten(60000));
    process.closeWriteChannel();
    QCOMPARE(::kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 130);
}

void CliSignalsTest::closedPipe_data()
{
    QTest::addColumn<QString>("format");
    QTest::newRow("json") << QStringLiteral("--json");
    QTest::newRow("text") << QStringLiteral("--stages");
}

void CliSignalsTest::closedPipe()
{
    QFETCH(QString, format);
    // head leaves after one line; what the program says and how it ends goes to standard error.
    const auto result =
        m_cli.shell(QStringLiteral("{ \"$CLI\" \"$@\"; echo \"status $?\" >&2; } | head -n 1"),
                    {"run", longModel(), "--prompt", "once", "--ignore-eos", "--context", "100000", format});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.output.count('\n'), 1);
    QCOMPARE(result.messages, QByteArray("status 1\n"));
}

TOKENLOUPE_TEST_MAIN(CliSignalsTest)
#include "tst_clisignals.moc"
