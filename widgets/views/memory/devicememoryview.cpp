// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/memory/devicememoryview.h"

#include "engine/memory/memoryplan.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/enginehost.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

std::uint64_t logitBytes(const MemoryPlan &plan)
{
    std::uint64_t bytes = 0;
    for (const MemoryItem &item : plan.items) {
        if (item.part == MemoryPart::Logits && item.place == MemoryPlace::Device)
            bytes += item.bytes;
    }
    return bytes;
}

} // namespace

DeviceMemoryView::DeviceMemoryView(QWidget *parent)
    : QWidget(parent)
{
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(Theme::instance().scaled(4));
    m_title = new ElidedLabel;
    m_title->setFont(Theme::instance().font(TextRole::Small));
    m_title->setForegroundRole(QPalette::PlaceholderText);
    m_title->setAccessibleName(tr("Device"));
    m_bar = new StackedBar(StackedBar::Legend::Shown);
    m_bar->setAccessibleName(tr("Memory of the device"));
    layout->addWidget(m_title);
    layout->addWidget(m_bar);
}

void DeviceMemoryView::showDevice(const EngineStatus &status)
{
    std::vector<BarSegment> segments;
    std::uint64_t known = 0;
    int color = 0;
    const auto add = [&](const QString &name, std::uint64_t bytes, const QString &value, const QString &how) {
        segments.push_back({name, static_cast<double>(bytes), value, how, color++});
        known += bytes;
    };
    const auto &measured = status.deviceMemory;
    for (const MemoryItem &item : status.plan.items) {
        if (item.place != MemoryPlace::Device || item.part == MemoryPart::Logits)
            continue;
        // The workspace grows as operations ask for it, up to what is planned; the matrix library takes more
        // than its workspace.
        std::uint64_t bytes = item.bytes;
        if (measured && item.part == MemoryPart::Workspace)
            bytes = measured->workspaceBytes;
        else if (measured && item.part == MemoryPart::Library && measured->libraryBytes > 0)
            bytes = measured->libraryBytes;
        const std::uint64_t planned = item.bytes;
        QString how = QString::fromStdString(item.how);
        // Logits are one more row or a few beside the activations.
        if (item.part == MemoryPart::Activations) {
            bytes += logitBytes(status.plan);
            how += tr("\nand %1 of logits").arg(formatBytes(logitBytes(status.plan)));
        }
        const std::string_view title = memoryPartTitle(item.part);
        add(QString::fromUtf8(title.data(), qsizetype(title.size())), bytes,
            bytes >= planned ? formatMebibytes(bytes)
                             : tr("%1 / %2").arg(formatMebibytes(bytes), formatMebibytes(planned)),
            how);
    }
    QStringList parts;
    if (status.deviceLayers)
        parts << tr("%1 of %2 layers")
                     .arg(formatCount(*status.deviceLayers), formatCount(status.model->config().layers));
    const QString plan = formatBytes(status.plan.bytesIn(MemoryPlace::Device));
    m_bar->setSegments(std::move(segments));
    if (!measured) {
        parts << tr("not measured") << tr("plan %1").arg(plan);
        m_title->setText(parts.join(QStringLiteral(" · ")));
        m_summary = tr("%1: plan %2").arg(status.device, plan);
        m_bar->setFullScale(0.0);
        m_bar->setMarker(-1.0, {});
        return;
    }
    const std::uint64_t used = measured->usedBytes();
    // What comes last goes first where there is no room.
    parts << tr("%1 free").arg(formatBytes(measured->freeBytes)) << tr("plan %1").arg(plan)
          << tr("others %1").arg(formatBytes(used - std::min(used, known)));
    m_title->setText(parts.join(QStringLiteral(" · ")));
    m_title->setToolTip(tr("Others: other programs, and what the driver took since its context was made "
                           "(kernels, tables). Plan: made before anything was allocated."));
    m_summary = tr("device %1 of %2").arg(formatBytes(used), formatBytes(measured->totalBytes));
    m_bar->setFullScale(static_cast<double>(measured->totalBytes));
    m_bar->setMarker(static_cast<double>(used), tr("used, as measured: %1").arg(formatBytes(used)));
}

} // namespace tokenloupe
