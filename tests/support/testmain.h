// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

namespace tokenloupe::test {

/// From here on any Qt warning that the test did not announce with QTest::ignoreMessage fails the program.
void failOnWarnings();

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
