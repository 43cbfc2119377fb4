// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/memory/memorypanel.h"

#include "engine/memory/memoryplan.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr int readEveryMs = 250;
constexpr int measuredColor = 5;

QString signedPercent(double share)
{
    const QString number = formatPercent(std::abs(share));
    return (share < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) + number + QStringLiteral(" %");
}

} // namespace

MemoryPanel::MemoryPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Memory"), parent)
    , m_context(context)
{
    m_measured = new StackedBar(StackedBar::Legend::Shown);
    m_measured->setAccessibleName(tr("Measured memory"));
    m_planned = new StackedBar(StackedBar::Legend::Shown);
    m_planned->setAccessibleName(tr("Planned memory"));
    m_note = new QLabel;
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setFont(Theme::instance().font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    content()->addWidget(m_planned);
    content()->addSpacing(Theme::instance().scaled(4));
    content()->addWidget(m_measured);
    content()->addWidget(m_note);
    content()->addStretch(1);
    connect(&context.host, &EngineHost::statusChanged, this, &MemoryPanel::scheduleRefresh);
    connect(&context.runs, &RunStore::updated, this, &MemoryPanel::scheduleRefresh);
    connect(&context.runs, &RunStore::cleared, this, &MemoryPanel::scheduleRefresh);
    connect(&context.selection, &SelectionState::changed, this, &MemoryPanel::scheduleRefresh);
}

// What was measured at the selected step; live, and where a step has none, what the process holds now.
std::uint64_t MemoryPanel::measuredBytes()
{
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    if (record && record->residentBytes > 0 && !m_context.selection.isLive())
        return record->residentBytes;
    if (!m_sinceRead.isValid() || m_sinceRead.elapsed() >= readEveryMs) {
        const ProcessMemory memory = processMemory();
        m_resident = memory.residentBytes;
        m_peak = memory.peakResidentBytes;
        m_sinceRead.start();
    }
    return record && record->residentBytes > 0 ? record->residentBytes : m_resident;
}

void MemoryPanel::refresh()
{
    const MemoryPlan &plan = m_context.host.status().plan;
    if (plan.items.empty()) {
        setSummary({});
        setEmptyState(tr("Open a model (Ctrl+O): what it takes is planned before anything is allocated."),
                      tr("Open a model…"));
        return;
    }
    setEmptyState({});
    std::vector<BarSegment> segments;
    int color = 0;
    for (const MemoryItem &item : plan.items) {
        const std::string_view title = memoryPartTitle(item.part);
        segments.push_back({QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size())),
                            static_cast<double>(item.bytes), formatMebibytes(item.bytes),
                            QString::fromStdString(item.how), color++});
    }
    const std::uint64_t planned = plan.total();
    const std::uint64_t measured = measuredBytes();
    const double scale = static_cast<double>(std::max(planned, measured)) * 1.04;
    m_planned->setSegments(std::move(segments));
    m_planned->setFullScale(scale);
    m_planned->setMarker(static_cast<double>(measured), tr("measured: %1").arg(formatBytes(measured)));
    m_measured->setSegments(
        {{tr("measured, resident"), static_cast<double>(measured), formatMebibytes(measured),
          m_peak > 0 ? tr("Resident set of this process; most so far: %1").arg(formatBytes(m_peak))
                     : tr("Resident set of this process"),
          measuredColor}});
    m_measured->setFullScale(scale);
    m_note->setText(tr("MiB. Planned blocks and logits become resident only when they are written."));
    const double difference =
        planned > 0 ? static_cast<double>(measured) / static_cast<double>(planned) - 1.0 : 0.0;
    setSummary(tr("plan %1 · measured %2 (%3)")
                   .arg(formatBytes(planned), formatBytes(measured), signedPercent(difference)));
}

} // namespace tokenloupe
