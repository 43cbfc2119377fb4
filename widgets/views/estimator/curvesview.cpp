// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/curvesview.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/plots/capacityplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double gibibyte = 1024.0 * mebibyte;

ElidedLabel *addHeading(QVBoxLayout *layout, const QString &title)
{
    const Theme &theme = Theme::instance();
    auto *name = new QLabel(title);
    name->setFont(theme.font(TextRole::Heading));
    auto *note = new ElidedLabel;
    QFont plain = theme.font(TextRole::Heading);
    plain.setWeight(QFont::Normal);
    note->setFont(plain);
    note->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    note->setForegroundRole(QPalette::PlaceholderText);
    auto *row = new QHBoxLayout;
    row->addWidget(name);
    row->addWidget(note, 1);
    layout->addLayout(row);
    return note;
}

void showCurve(CapacityPlot &plot, const EstimateCurve &curve, std::uint64_t capacity,
               const QString &crossing)
{
    double largest = static_cast<double>(capacity);
    for (const QPointF &point : curve.points)
        largest = std::max(largest, point.y());
    const bool inGibibytes = largest >= 2.0 * gibibyte;
    const double unit = inGibibytes ? gibibyte : mebibyte;
    std::vector<QPointF> points;
    for (const QPointF &point : curve.points)
        points.push_back(QPointF(point.x(), point.y() / unit));
    plot.setYUnit(inGibibytes ? QStringLiteral("GiB") : QStringLiteral("MiB"));
    plot.setCurve(std::move(points));
    plot.setCapacity(static_cast<double>(capacity) / unit,
                     CurvesView::tr("there is %1").arg(formatBytes(capacity)));
    plot.setCurrent(QPointF(curve.current, curve.currentBytes / unit),
                    CurvesView::tr("now %1").arg(formatBytes(std::uint64_t(curve.currentBytes))));
    plot.setCrossing(curve.crossing, crossing);
}

} // namespace

CurvesView::CurvesView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.scaled(8), 0, 0);
    layout->setSpacing(theme.scaled(4));
    m_contextNote = addHeading(layout, tr("Memory over context"));
    m_context = new CapacityPlot(tr("Memory over context"), tr("tokens"), QStringLiteral("GiB"), this);
    layout->addWidget(m_context, 1);
    m_batchNote = addHeading(layout, tr("Memory over batch"));
    m_batch = new CapacityPlot(tr("Memory over batch"), tr("sequences"), QStringLiteral("GiB"), this);
    layout->addWidget(m_batch, 1);
    const auto whole = [](double x) { return std::max<quint64>(1, quint64(std::llround(std::max(0.0, x)))); };
    connect(m_context, &Plot::clicked, this, [this, whole](double x) { Q_EMIT contextPicked(whole(x)); });
    connect(m_batch, &Plot::clicked, this, [this, whole](double x) { Q_EMIT batchPicked(whole(x)); });
}

void CurvesView::setResult(const EstimatorResultPtr &result)
{
    const Estimate &estimate = *result->estimate;
    showCurve(*m_context, result->byContext, estimate.capacityBytes,
              tr("%1 tokens").arg(formatCount(estimate.maxContext)));
    showCurve(*m_batch, result->byBatch, estimate.capacityBytes,
              counted(estimate.maxBatch, tr("sequence"), tr("sequences")));
    m_contextNote->setText(
        estimate.maxContext > 0
            ? tr("fits up to %1").arg(counted(estimate.maxContext, tr("token"), tr("tokens")))
            : tr("does not fit at any context"));
    m_batchNote->setText(
        estimate.maxBatch > 0
            ? tr("fits up to %1").arg(counted(estimate.maxBatch, tr("sequence"), tr("sequences")))
            : tr("does not fit at any batch"));
}

} // namespace tokenloupe
