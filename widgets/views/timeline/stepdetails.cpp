// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/stepdetails.h"

#include "engine/trace/steprecord.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/devicetext.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <algorithm>
#include <vector>

namespace tokenloupe {

namespace {

/// What took time at all, the longest first.
std::vector<Operation> longestFirst(const OperationTimes &times)
{
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < operationCount; ++i) {
        if (times.ms[i] > 0.0F)
            operations.push_back(static_cast<Operation>(i));
    }
    std::stable_sort(operations.begin(), operations.end(),
                     [&](Operation a, Operation b) { return times.of(a) > times.of(b); });
    return operations;
}

QString lineOf(const OperationTimes &times, Operation operation)
{
    return QString(operationTitle(operation) + QLatin1Char(' ') +
                   formatMilliseconds(static_cast<double>(times.of(operation))));
}

} // namespace

const OperationTimes &operationsOf(const RunRecord &run, const StepRecord &step)
{
    const bool isOfPrefill = step.ref.step.value() == 0 && step.computedTokens == 0;
    return isOfPrefill ? run.operations : step.operations;
}

QString operationLines(const OperationTimes &times)
{
    QStringList lines;
    for (const Operation operation : longestFirst(times))
        lines << lineOf(times, operation);
    return lines.join(QLatin1Char('\n'));
}

StepDetails::StepDetails(QWidget *parent)
    : QWidget(parent)
{
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(Theme::instance().scaled(12));
    m_bar = new StackedBar(StackedBar::Legend::Hidden);
    m_bar->setAccessibleName(tr("Kernel times of the step"));
    m_bar->setFixedWidth(Theme::instance().scaled(160));
    m_text = new ElidedLabel;
    m_text->setFont(Theme::instance().font(TextRole::Small));
    m_text->setAccessibleName(tr("The selected step"));
    layout->addWidget(m_bar);
    layout->addWidget(m_text, 1);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    clear();
}

QString StepDetails::text() const
{
    return m_text->text();
}

void StepDetails::clear()
{
    m_bar->hide();
    m_bar->setSegments({});
    m_text->setText({});
}

void StepDetails::showStep(const RunRecord &run, const StepRecord &step)
{
    const OperationTimes &times = operationsOf(run, step);
    QStringList parts;
    std::vector<BarSegment> segments;
    for (const Operation operation : longestFirst(times)) {
        const double ms = static_cast<double>(times.of(operation));
        parts << lineOf(times, operation);
        segments.push_back(
            {operationTitle(operation), ms, formatMilliseconds(ms),
             QString(lineOf(times, operation) + QLatin1Char('\n') + operationSummary(operation)),
             static_cast<int>(operation)});
    }
    if (const QString read = bandwidthDetails(run, step); !read.isEmpty())
        parts.insert(0, read);
    m_bar->setVisible(!segments.empty());
    m_bar->setSegments(std::move(segments));
    m_text->setText(parts.join(QStringLiteral(" · ")));
}

} // namespace tokenloupe
