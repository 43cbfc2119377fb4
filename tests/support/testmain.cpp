// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"

#include <QRegularExpression>

namespace tokenloupe::test {

namespace {

QtMessageHandler previousHandler = nullptr;

void handler(QtMsgType type, const QMessageLogContext &context, const QString &text)
{
    if (previousHandler)
        previousHandler(type, context, text);
    if (type == QtWarningMsg || type == QtCriticalMsg) {
        std::fprintf(stderr, "unexpected warning, failing: %s\n", qPrintable(text));
        std::_Exit(3);
    }
}

} // namespace

void failOnWarnings()
{
    // QTest installs its own handler inside qExec and takes announced messages away before any other sees
    // them; this one is for what happens outside of test functions. Inside, failOnWarning() is per test
    // function.
    previousHandler = qInstallMessageHandler(handler);
}

} // namespace tokenloupe::test

#ifdef __SANITIZE_THREAD__
/// Qt is not compiled for the thread sanitizer, which therefore cannot see that Qt Test's own watchdog thread
/// is joined before what it used is destroyed.
extern "C" const char *__tsan_default_suppressions();
extern "C" const char *__tsan_default_suppressions()
{
    return "race:QWaitCondition\nrace:QTest::qRun\n";
}
#endif
