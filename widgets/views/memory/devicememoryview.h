// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QLabel;

namespace tokenloupe {

class ElidedLabel;
class StackedBar;
struct EngineStatus;

/// What of a device's memory the plan and the measurement tell: every part, what others hold, what is free.
class DeviceMemoryView : public QWidget
{
    Q_OBJECT

public:
    explicit DeviceMemoryView(QWidget *parent = nullptr);

    void showDevice(const EngineStatus &status);
    QString summary() const { return m_summary; } ///< for a heading

private:
    ElidedLabel *m_title = nullptr;
    StackedBar *m_bar = nullptr;
    QString m_summary;
};

} // namespace tokenloupe
