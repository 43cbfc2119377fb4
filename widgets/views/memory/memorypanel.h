// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

#include <QElapsedTimer>
#include <cstdint>

class QLabel;

namespace tokenloupe {

class DeviceMemoryView;
class StackedBar;
struct MemoryItem;

/// The memory plan, made before anything was allocated, beside what the process really holds; of a device
/// that computes, beside what is used and free there.
class MemoryPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit MemoryPanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;

private:
    std::uint64_t measuredBytes();
    /// What of a planned part is in use at the selected step.
    std::uint64_t usedBytes(const MemoryItem &item) const;

    InspectorContext m_context;
    DeviceMemoryView *m_device = nullptr; ///< shown where one computes
    StackedBar *m_inUse = nullptr;
    StackedBar *m_measured = nullptr;
    QLabel *m_note = nullptr;
    QElapsedTimer m_sinceRead; ///< of the process's own count
    std::uint64_t m_resident = 0;
    std::uint64_t m_peak = 0;
};

} // namespace tokenloupe
