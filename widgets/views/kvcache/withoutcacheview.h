// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/enginehost.h"

#include <QWidget>
#include <memory>

class QLabel;
class QPushButton;

namespace tokenloupe {

class ComparisonPlot;
class ProgressStrip;
class SectionHeading;
class SegmentTabs;

/// Sums over the steps that were measured both ways.
struct WorkTotals
{
    std::size_t steps = 0;
    double cachedMs = 0.0, uncachedMs = 0.0;
    double cachedFlops = 0.0, uncachedFlops = 0.0;
};
WorkTotals totalsOf(const CacheWork &work);
/// "24 steps: 0.31 s with, 5.2 s without: 17 times"
QString measuredSentence(const WorkTotals &totals);
QString formulaSentence(const WorkTotals &totals);

/// What the cache is for: each step's cost with it and without, measured and by formula. The measurement is
/// made on demand; progress and Cancel are in the view.
class WithoutCacheView : public QWidget
{
    Q_OBJECT

public:
    explicit WithoutCacheView(QWidget *parent = nullptr);

    /// Null: not measured.
    void setWork(std::shared_ptr<const CacheWork> work);
    /// Why measuring is not possible now; empty: it is.
    void setBlockedBy(const QString &reason);
    void showProgress(const EngineProgress &progress); ///< measuring is under way
    void hideProgress();
    void setSelectedStep(int step); ///< from 0; -1: none
    QString verdict() const;        ///< all sentences, one a line
    const ComparisonPlot *plot() const { return m_plot; }

Q_SIGNALS:
    void measureRequested();
    void cancelRequested();
    void stepClicked(int step);

private:
    void refresh();
    void showSeries();

    std::shared_ptr<const CacheWork> m_work;
    QString m_reason;
    bool m_measuring = false;
    SectionHeading *m_heading = nullptr;
    SegmentTabs *m_quantity = nullptr;
    ComparisonPlot *m_plot = nullptr;
    QLabel *m_verdict = nullptr;
    QPushButton *m_measure = nullptr;
    QLabel *m_why = nullptr;
    ProgressStrip *m_progress = nullptr;
};

} // namespace tokenloupe
