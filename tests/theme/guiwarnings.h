// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRegularExpression>

namespace tokenloupe::test {

/// For QTest::failOnWarning in tests with windows: every warning, but for what Qt's offscreen platform says
/// about itself whenever a window has a minimum size, or a tooltip or a list of matches comes up.
inline QRegularExpression anyWarning()
{
    return QRegularExpression(QStringLiteral(
        "^(?!This plugin does not support (?:propagateSizeHints\\(\\)|raise\\(\\)|grabbing the keyboard))"));
}

} // namespace tokenloupe::test
