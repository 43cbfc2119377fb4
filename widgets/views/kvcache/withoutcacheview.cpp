// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/withoutcacheview.h"

#include "widgets/controls/progressstrip.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/plots/comparisonplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/sectionheading.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tokenloupe {

namespace {

enum Quantity { MeasuredTab, FormulaTab };

double sumOf(const std::vector<double> &values, std::size_t count)
{
    return std::accumulate(values.begin(),
                           values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size())), 0.0);
}

QString timeText(double ms)
{
    return ms < 100.0 ? formatMilliseconds(ms)
                      : formatSignificant(ms / 1000.0, 2) + QChar(0x00A0) + QStringLiteral("s");
}

struct Scale
{
    double divisor = 1.0;
    QString prefix;
};

Scale scaleFor(double value)
{
    constexpr std::array steps{std::pair{1e12, "T"}, std::pair{1e9, "G"}, std::pair{1e6, "M"},
                               std::pair{1e3, "k"}};
    for (const auto &[divisor, prefix] : steps)
        if (value >= divisor)
            return {divisor, QString::fromLatin1(prefix)};
    return {};
}

QString workText(double flops)
{
    const Scale scale = scaleFor(flops);
    return formatSignificant(flops / scale.divisor, 3) + QChar(0x00A0) + scale.prefix;
}

QString timesText(double with, double without)
{
    return with > 0.0 ? WithoutCacheView::tr("%1 times").arg(formatSignificant(without / with, 2))
                      : QStringLiteral("–");
}

QString stepsText(std::size_t steps)
{
    return counted(steps, WithoutCacheView::tr("step"), WithoutCacheView::tr("steps"));
}

std::vector<double> scaled(const std::vector<double> &values, double divisor)
{
    std::vector<double> result;
    result.reserve(values.size());
    for (const double value : values)
        result.push_back(value / divisor);
    return result;
}

} // namespace

WorkTotals totalsOf(const CacheWork &work)
{
    WorkTotals totals;
    totals.steps = std::min(work.cachedMs.size(), work.uncachedMs.size());
    totals.cachedMs = sumOf(work.cachedMs, totals.steps);
    totals.uncachedMs = sumOf(work.uncachedMs, totals.steps);
    totals.cachedFlops = sumOf(work.cachedFlops, totals.steps);
    totals.uncachedFlops = sumOf(work.uncachedFlops, totals.steps);
    return totals;
}

QString measuredSentence(const WorkTotals &totals)
{
    return WithoutCacheView::tr("%1: %2 with, %3 without: %4")
        .arg(stepsText(totals.steps), timeText(totals.cachedMs), timeText(totals.uncachedMs),
             timesText(totals.cachedMs, totals.uncachedMs));
}

QString formulaSentence(const WorkTotals &totals)
{
    return WithoutCacheView::tr("By formula: %1 multiply-adds with, %2 without: %3")
        .arg(workText(totals.cachedFlops).trimmed(), workText(totals.uncachedFlops).trimmed(),
             timesText(totals.cachedFlops, totals.uncachedFlops));
}

WithoutCacheView::WithoutCacheView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(4));
    m_heading = new SectionHeading(tr("With and without the cache"));
    column->addWidget(m_heading);
    m_quantity = new SegmentTabs(tr("What is compared"));
    m_quantity->addTab(tr("Measured"));
    m_quantity->addTab(tr("By formula"));
    column->addWidget(m_quantity);
    m_plot = new ComparisonPlot(tr("Cost of every step with and without the cache"), tr("ms"));
    m_plot->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    m_plot->setMinimumHeight(theme.scaled(90));
    column->addWidget(m_plot, 1);
    m_verdict = new QLabel;
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_verdict->setFont(theme.font(TextRole::Small));
    column->addWidget(m_verdict);
    m_progress = new ProgressStrip;
    m_progress->setTitle(tr("Computing every step anew"));
    column->addWidget(m_progress);
    auto *line = new QHBoxLayout;
    line->setSpacing(theme.scaled(8));
    m_measure = new QPushButton(tr("Measure without cache"));
    m_why = new QLabel;
    m_why->setTextFormat(Qt::PlainText);
    m_why->setWordWrap(true);
    m_why->setFont(theme.font(TextRole::Small));
    m_why->setForegroundRole(QPalette::PlaceholderText);
    line->addWidget(m_measure);
    line->addWidget(m_why, 1);
    column->addLayout(line);
    column->addStretch(0);
    connect(m_measure, &QPushButton::clicked, this, &WithoutCacheView::measureRequested);
    connect(m_progress, &ProgressStrip::cancelRequested, this, &WithoutCacheView::cancelRequested);
    connect(m_quantity, &QTabBar::currentChanged, this, &WithoutCacheView::showSeries);
    connect(m_plot, &ComparisonPlot::stepClicked, this, &WithoutCacheView::stepClicked);
    refresh();
}

void WithoutCacheView::setWork(std::shared_ptr<const CacheWork> work)
{
    if (work == m_work)
        return;
    m_work = std::move(work);
    refresh();
}

void WithoutCacheView::setBlockedBy(const QString &reason)
{
    if (reason == m_reason)
        return;
    m_reason = reason;
    refresh();
}

void WithoutCacheView::showProgress(const EngineProgress &progress)
{
    m_progress->setProgress(
        progress.done, progress.total, progress.seconds,
        progress.total > 0 ? tr("%1 of %2 steps").arg(formatCount(progress.done), formatCount(progress.total))
                           : QString());
    if (!m_measuring) {
        m_measuring = true;
        refresh();
    }
}

void WithoutCacheView::hideProgress()
{
    if (!m_measuring)
        return;
    m_measuring = false;
    refresh();
}

void WithoutCacheView::setSelectedStep(int step)
{
    m_plot->setSelected(step);
}

QString WithoutCacheView::verdict() const
{
    return m_verdict->text();
}

void WithoutCacheView::showSeries()
{
    if (!m_work)
        return;
    const bool measured = m_quantity->currentIndex() == MeasuredTab;
    const std::vector<double> &with = measured ? m_work->cachedMs : m_work->cachedFlops;
    const std::vector<double> &without = measured ? m_work->uncachedMs : m_work->uncachedFlops;
    Scale scale;
    if (!measured && !without.empty())
        scale = scaleFor(*std::max_element(without.begin(), without.end()));
    m_plot->setUnit(measured ? tr("ms") : tr("%1 multiply-adds").arg(scale.prefix).trimmed());
    m_plot->setSeries({{tr("with"), scaled(with, scale.divisor), StageFamily::CountCut},
                       {tr("without"), scaled(without, scale.divisor), StageFamily::Penalties}});
}

void WithoutCacheView::refresh()
{
    const WorkTotals totals = m_work ? totalsOf(*m_work) : WorkTotals{};
    const bool measured = totals.steps > 0;
    m_progress->setVisible(m_measuring);
    m_measure->setVisible(!m_measuring);
    m_measure->setEnabled(m_reason.isEmpty());
    m_measure->setText(measured ? tr("Measure again") : tr("Measure without cache"));
    m_why->setVisible(!m_measuring && !m_reason.isEmpty());
    m_why->setText(m_reason);
    m_measure->setToolTip(m_reason);
    m_measure->setAccessibleDescription(m_reason);
    m_quantity->setVisible(measured);
    m_plot->setVisible(measured);
    QStringList lines;
    if (measured) {
        lines << measuredSentence(totals) << formulaSentence(totals);
        const QString difference = formatSignificant(static_cast<double>(m_work->largestDifference), 2);
        lines << (m_work->sameTokens ? tr("Same tokens: yes; largest difference of a logit: %1")
                                     : tr("Same tokens: no; largest difference of a logit: %1"))
                     .arg(difference);
        if (!m_work->complete && !m_measuring)
            lines << tr("Measured in part: the measurement was cancelled.");
        m_heading->setSummary(timesText(totals.cachedMs, totals.uncachedMs));
        showSeries();
    } else {
        lines << tr("Without the cache every step runs the whole text through the model again. Measure what "
                    "that would have cost this reply.");
        m_heading->setSummary({});
    }
    m_verdict->setText(lines.join(QLatin1Char('\n')));
}

} // namespace tokenloupe
