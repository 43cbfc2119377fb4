// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/terminal.h"
#include "tests/support/testmain.h"

#include <QFile>
#include <QTemporaryDir>
#include <cstdio>
#include <functional>
#include <unistd.h>

using namespace tokenloupe;
using namespace tokenloupe::cli;

namespace {

/// What is written to standard error meanwhile.
QByteArray messagesOf(const std::function<void()> &call)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("messages"));
    std::fflush(stderr);
    const int before = dup(STDERR_FILENO);
    std::FILE *file = std::fopen(qPrintable(path), "wb");
    dup2(fileno(file), STDERR_FILENO);
    call();
    std::fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    std::fclose(file);
    QFile written(path);
    return written.open(QIODevice::ReadOnly) ? written.readAll() : QByteArray("not written");
}

} // namespace

/// Errors as the person at the command line reads them.
class TestTerminal : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void aFailureIsOneLine_data()
    {
        QTest::addColumn<int>("code");
        QTest::addColumn<int>("deviceLayers");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("line");
        QTest::newRow("plain") << int(ErrorCode::BadFile) << 0 << int(ExitStatus::Failed)
                               << QByteArray("tokenloupe-cli: open: what\\nand why\n");
        QTest::newRow("cancelled") << int(ErrorCode::Cancelled) << 0 << int(ExitStatus::Cancelled)
                                   << QByteArray("tokenloupe-cli: cancelled\n");
        QTest::newRow("some layers have room")
            << int(ErrorCode::OutOfMemory) << 22 << int(ExitStatus::Failed)
            << QByteArray("tokenloupe-cli: open: what\\nand why (--device-layers 22)\n");
    }
    void aFailureIsOneLine()
    {
        QFETCH(int, code);
        QFETCH(int, deviceLayers);
        QFETCH(int, status);
        QFETCH(QByteArray, line);
        Error error{ErrorCode(code), "open", "what\nand why"};
        error.deviceLayers = std::uint32_t(deviceLayers);
        Terminal terminal;
        ExitStatus ended = ExitStatus::Done;
        QCOMPARE(messagesOf([&] { ended = terminal.fail(error); }), line);
        QCOMPARE(int(ended), status);
    }
};

TOKENLOUPE_TEST_MAIN(TestTerminal)
#include "tst_terminal.moc"
