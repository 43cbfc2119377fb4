// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"

#include <QWidget>
#include <functional>

class QFormLayout;
class QLabel;

namespace tokenloupe {

/// The parameters of one stage as fields. Every edit is announced at once as a whole stage.
class StageEditor : public QWidget
{
    Q_OBJECT

public:
    explicit StageEditor(QWidget *parent = nullptr);

    /// Shows `stage`; the fields keep the keyboard when the kind stays the same.
    void setStage(const StageSettings &stage);
    void clear();

    /// "198 +2.5, 504 -inf" and back. The result names what cannot be read.
    static Result<LogitBiasParams> readBiases(const QString &text);
    static QString writeBiases(const LogitBiasParams &params);

Q_SIGNALS:
    void edited(const tokenloupe::StageSettings &stage);
    void rejected(const QString &message);

private:
    void rebuild();
    void addReal(const QString &label, double value, double low, double high, double step,
                 std::function<void(double)> apply);
    void addInteger(const QString &label, int value, int low, int high, std::function<void(int)> apply);
    void announce();

    StageSettings m_stage;
    bool m_shown = false;
    QLabel *m_title = nullptr;
    QFormLayout *m_form = nullptr;
    std::vector<std::function<void(const StageSettings &)>> m_updates; // bring a field up to another value
};

} // namespace tokenloupe
