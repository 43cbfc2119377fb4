// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/memory/memorypanel.h"

#include "engine/memory/memoryplan.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/memory/devicememoryview.h"

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
    m_inUse = new StackedBar(StackedBar::Legend::Shown);
    m_inUse->setAccessibleName(tr("Planned memory in use"));
    m_note = new QLabel;
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setFont(Theme::instance().font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_device = new DeviceMemoryView;
    m_device->hide();
    content()->addWidget(m_device);
    content()->addWidget(m_inUse);
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
    const bool hasDevice = plan.hasDevice();
    m_device->setVisible(hasDevice);
    // The host's bar has a mark for what is measured, and the heading the number.
    m_measured->setVisible(!hasDevice);
    m_note->setVisible(!hasDevice);
    if (hasDevice)
        m_device->showDevice(m_context.host.status());
    std::vector<BarSegment> segments;
    double expected = 0.0;
    int color = 0;
    for (const MemoryItem &item : plan.items) {
        if (item.place != MemoryPlace::Host)
            continue;
        const std::string_view title = memoryPartTitle(item.part);
        const std::uint64_t used = usedBytes(item);
        // Reserved is not resident: where only a part is in use, both are said.
        const QString value = used == item.bytes
                                  ? formatMebibytes(used)
                                  : tr("%1 / %2").arg(formatMebibytes(used), formatMebibytes(item.bytes));
        segments.push_back({QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size())),
                            static_cast<double>(used), value, QString::fromStdString(item.how), color++});
        expected += static_cast<double>(used);
    }
    const std::uint64_t program = m_context.host.status().programBytes;
    segments.push_back(
        {tr("Program"), static_cast<double>(program), formatMebibytes(program),
         tr("Resident set of the process before a model was opened: code, libraries, fonts, window"),
         color++});
    expected += static_cast<double>(program);
    const auto measured = static_cast<double>(measuredBytes());
    const double scale = std::max(expected, measured) * 1.04;
    m_inUse->setSegments(std::move(segments));
    m_inUse->setFullScale(scale);
    m_inUse->setMarker(measured, tr("measured: %1").arg(formatBytes(std::uint64_t(measured))));
    m_measured->setSegments(
        {{tr("Measured"), measured, formatMebibytes(std::uint64_t(measured)),
          m_peak > 0 ? tr("Resident set of this process; most so far: %1").arg(formatBytes(m_peak))
                     : tr("Resident set of this process"),
          measuredColor}});
    m_measured->setFullScale(scale);
    m_note->setText(tr("MiB. At most, by the plan: %1 and the program.").arg(formatMebibytes(plan.total())));
    m_note->setToolTip(tr("Blocks and logits become resident only when they are written."));
    if (hasDevice)
        return setSummary(
            tr("%1 · here %2 MiB").arg(m_device->summary(), formatMebibytes(std::uint64_t(measured))));
    setSummary(tr("measured %1 MiB · plan in use %2 (%3)")
                   .arg(formatMebibytes(std::uint64_t(measured)), formatMebibytes(std::uint64_t(expected)),
                        signedPercent(measured / expected - 1.0)));
}

std::uint64_t MemoryPanel::usedBytes(const MemoryItem &item) const
{
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    switch (item.part) {
    case MemoryPart::KvCache:
        // Live: all blocks that were ever written stay resident, also those that are free again.
        if (const auto cache = m_context.host.cache(); cache && m_context.selection.isLive())
            return cache->touchedBytes();
        if (!record)
            return 0;
        // Of a cache in two memories, as much as of the room in both.
        return std::uint64_t(double(record->kvBytes) * double(item.bytes) /
                             double(m_context.host.status().plan.bytesOf(MemoryPart::KvCache)));
    case MemoryPart::Trace: {
        const auto logits = m_context.host.logits();
        return logits ? logits->memoryBytes() : 0;
    }
    default:
        return item.bytes;
    }
}

} // namespace tokenloupe
