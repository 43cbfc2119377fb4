// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"

#include <QWidget>
#include <optional>

class QLabel;

namespace tokenloupe {

class ElidedLabel;
class StepLinePlot;
struct Run;

/// How the cache of a run grew: bytes over tokens against the formula, the pool and the context.
class GrowthView : public QWidget
{
    Q_OBJECT

public:
    explicit GrowthView(QWidget *parent = nullptr);

    /// `snapshot` gives the pool; null: no budget is known. Only new steps of the same run are added.
    void setRun(const Run &run, const KvShape &shape, std::uint32_t contextTokens,
                const CacheSnapshot *snapshot);
    void forget(); ///< the run's steps changed: the curve is built anew
    void setSelected(std::optional<StepIndex> step, const Run &run);
    void setWarning(const QString &warning); ///< empty: none
    QString warning() const;
    QString note() const;
    StepLinePlot *plot() const { return m_plot; }

Q_SIGNALS:
    void stepClicked(int step); ///< of the run, from 0

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    void startCurve(const Run &run, const KvShape &shape, std::uint32_t contextTokens);
    void setBudget(const CacheSnapshot *snapshot, std::uint32_t contextTokens);
    void refreshWarningColor();
    void fitWarning();

    StepLinePlot *m_plot = nullptr;
    ElidedLabel *m_note = nullptr;
    QLabel *m_warning = nullptr;
    RunId m_run;     ///< whose curve the plot holds
    KvShape m_shape; ///< by which it was begun
    std::uint32_t m_context = 0;
    std::size_t m_steps = 0; ///< how many of its steps
    double m_firstX = 0.0;
    std::uint64_t m_poolBytes = 0;
};

} // namespace tokenloupe
