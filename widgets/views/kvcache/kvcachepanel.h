// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

class QLabel;

namespace tokenloupe {

class BlockMap;
class LayerBars;
class StepLinePlot;
struct Run;

/// How the KV cache of a run grew: bytes over tokens against the formula and the context limit; its blocks;
/// bytes of keys and values in every layer. Blocks of a prefix that was already there are marked.
class KvCachePanel : public LivePanel
{
    Q_OBJECT

public:
    explicit KvCachePanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;

private:
    const Run *shownRun() const;
    void showCurve(const Run &run);
    void showBlocks(const Run &run);
    void showHeading(const Run *run);

    InspectorContext m_context;
    StepLinePlot *m_plot = nullptr;
    QLabel *m_blocksTitle = nullptr;
    QLabel *m_blocksSummary = nullptr;
    BlockMap *m_blocks = nullptr;
    QLabel *m_layersSummary = nullptr;
    LayerBars *m_layers = nullptr;
    RunId m_run;             ///< whose curve the plot holds
    std::size_t m_steps = 0; ///< how many of its steps
};

} // namespace tokenloupe
