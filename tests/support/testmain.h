// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

namespace tokenloupe::test {

/// From here on any Qt warning that the test did not announce with QTest::ignoreMessage fails the program.
void failOnWarnings();

/// Whether every access to memory is checked: ten times as slow. Long runs whose numbers the plain build
/// checks may be cut short.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool isSanitized = true;
#else
constexpr bool isSanitized = false;
#endif

} // namespace tokenloupe::test

/// main() for tests without widgets.
#define TOKENLOUPE_TEST_MAIN(Class)                                                                          \
    int main(int argc, char *argv[])                                                                         \
    {                                                                                                        \
        QCoreApplication application(argc, argv);                                                            \
        tokenloupe::test::failOnWarnings();                                                                  \
        Class test;                                                                                          \
        return QTest::qExec(&test, argc, argv);                                                              \
    }

/// main() for tests with widgets: include <QApplication> first.
#define TOKENLOUPE_GUI_TEST_MAIN(Class)                                                                      \
    int main(int argc, char *argv[])                                                                         \
    {                                                                                                        \
        QApplication application(argc, argv);                                                                \
        tokenloupe::test::failOnWarnings();                                                                  \
        Class test;                                                                                          \
        return QTest::qExec(&test, argc, argv);                                                              \
    }
