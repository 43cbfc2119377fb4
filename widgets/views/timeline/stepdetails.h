// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

namespace tokenloupe {

class ElidedLabel;
class StackedBar;
struct OperationTimes;
struct RunRecord;
struct StepRecord;

/// One line about one step: how long each operation took, where that was measured, and how fast weights, keys
/// and values were read.
class StepDetails : public QWidget
{
    Q_OBJECT

public:
    explicit StepDetails(QWidget *parent = nullptr);

    void showStep(const RunRecord &run, const StepRecord &step);
    void clear();
    QString text() const;

private:
    StackedBar *m_bar = nullptr;
    ElidedLabel *m_text = nullptr;
};

/// The times that belong to a step: those of the prefill for the first one.
const OperationTimes &operationsOf(const RunRecord &run, const StepRecord &step);
/// One line for each operation, the longest first; empty: nothing was measured.
QString operationLines(const OperationTimes &times);

} // namespace tokenloupe
