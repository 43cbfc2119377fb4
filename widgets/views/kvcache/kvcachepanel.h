// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/estimate/estimate.h"
#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

#include <QTimer>
#include <vector>

namespace tokenloupe {

class CacheSections;
struct Run;

/// The KV cache: how it grew with the run that is looked at, its pools of blocks at this moment, what paging
/// wastes and spares, what a reply costs without a cache, and what a token takes in every layer. Hands plain
/// values to its parts (CacheSections).
class KvCachePanel : public LivePanel
{
    Q_OBJECT

public:
    explicit KvCachePanel(InspectorContext &context, QWidget *parent = nullptr);

    /// The kinds of attention for the open model's shape; they stay until the next call.
    void setAttentionVariants(const std::vector<AttentionVariant> &variants);
    CacheSections *sections() const { return m_sections; }

protected:
    void refresh() override;

private:
    void connectSources();
    const Run *shownRun() const;
    void selectStep(RunId run, int step);
    void activateBlock(int pool, int block);
    void measure();
    void showHeading(const Run *run);
    void showWork(const Run &run);
    QString warningFor(const Run &run) const;
    QString measuringBlockedBy(const Run &run) const;

    InspectorContext m_context;
    CacheSections *m_sections = nullptr;
    QTimer m_progress; ///< while measuring
};

} // namespace tokenloupe
