// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/kvcachepanel.h"

#include "widgets/controls/blockmap.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/plots/steplineplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/layerbars.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

QLabel *addSectionHeading(QVBoxLayout *layout, const QString &title, QLabel **summary)
{
    const Theme &theme = Theme::instance();
    auto *line = new QHBoxLayout;
    line->setContentsMargins(0, theme.scaled(4), 0, 0);
    auto *label = new QLabel(title);
    label->setFont(theme.font(TextRole::Heading));
    label->setTextFormat(Qt::PlainText);
    QFont plain = theme.font(TextRole::Heading);
    plain.setWeight(QFont::Normal);
    *summary = new ElidedLabel;
    (*summary)->setFont(plain);
    (*summary)->setForegroundRole(QPalette::PlaceholderText);
    (*summary)->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    line->addWidget(label);
    line->addWidget(*summary, 1);
    layout->addLayout(line);
    return label;
}

// "3" when all layers have as many, else "1 to 4".
QString kvHeadsText(const KvShape &shape)
{
    const auto [least, most] =
        std::minmax_element(shape.layers.begin(), shape.layers.end(),
                            [](const KvLayerShape &a, const KvLayerShape &b) { return a.heads < b.heads; });
    if (least->heads == most->heads)
        return QString::number(most->heads);
    return KvCachePanel::tr("%1 to %2").arg(least->heads).arg(most->heads);
}

} // namespace

KvCachePanel::KvCachePanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("KV cache"), parent)
    , m_context(context)
{
    m_plot = new StepLinePlot(tr("Bytes of the KV cache over tokens"), tr("tokens"), tr("MiB"));
    content()->addWidget(m_plot, 3);
    m_blocksTitle = addSectionHeading(content(), tr("Blocks"), &m_blocksSummary);
    m_blocks = new BlockMap;
    content()->addWidget(m_blocks, 1);
    addSectionHeading(content(), tr("Layers"), &m_layersSummary);
    m_layers = new LayerBars;
    content()->addWidget(m_layers);

    connect(&context.runs, &RunStore::updated, this, &KvCachePanel::scheduleRefresh);
    connect(&context.runs, &RunStore::truncated, this, [this](RunId run) {
        if (run == m_run)
            m_run = {}; // the curve is built anew
    });
    connect(&context.runs, &RunStore::cleared, this, [this] {
        m_run = {};
        scheduleRefresh();
    });
    connect(&context.runs, &RunStore::runStarted, this, [this](RunId run) {
        if (run == m_run)
            m_run = {};
    });
    connect(&context.selection, &SelectionState::changed, this, &KvCachePanel::scheduleRefresh);
    connect(&context.host, &EngineHost::statusChanged, this, &KvCachePanel::scheduleRefresh);
    connect(m_plot, &Plot::clicked, this, [this](double x, double) {
        // the step whose token was the x-th of the sequence
        const Run *run = shownRun();
        if (!run || run->steps.empty())
            return;
        const double first = run->steps.front().kvTokens;
        const double step = std::clamp(x - first + 0.5, 0.0, static_cast<double>(run->steps.size()) - 1.0);
        m_context.selection.select({run->start.run, StepIndex(static_cast<std::uint32_t>(step))});
    });
}

const Run *KvCachePanel::shownRun() const
{
    const RunId id =
        m_context.selection.isLive() ? m_context.runs.newestRun() : m_context.selection.current().run;
    return m_context.runs.run(id);
}

void KvCachePanel::refresh()
{
    const EngineStatus &status = m_context.host.status();
    const Run *run = shownRun();
    if (!run && !status.model) {
        setSummary({});
        setEmptyState(tr("Open a model (Ctrl+O) or drop a GGUF file here."), tr("Open a model…"));
        return;
    }
    showHeading(run);
    if (!run) {
        setEmptyState(tr("Send a message: the cache fills with the prompt, then grows with every token."));
        return;
    }
    setEmptyState({});
    showCurve(*run);
    showBlocks(*run);

    const KvShape &shape = status.kvShape;
    std::vector<LayerBytes> layers;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer)
        layers.push_back({shape.keyBytesPerToken(layer), shape.valueBytesPerToken(layer)});
    if (!layers.empty())
        m_layersSummary->setText(
            tr("%1 layers · keys %2, values %3 a token")
                .arg(layers.size())
                .arg(formatBytes(layers.front().keys), formatBytes(layers.front().values)));
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    m_layers->setLayers(std::move(layers), record ? record->kvTokens : 0);
}

void KvCachePanel::showHeading(const Run *run)
{
    const EngineStatus &status = m_context.host.status();
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    QStringList parts;
    if (run && record)
        parts << formatBytes(record->kvBytes);
    if (!status.kvShape.layers.empty()) {
        parts << tr("%1 a token").arg(formatBytes(status.kvShape.bytesPerToken()));
        if (status.model)
            parts << tr("%1 of %2 heads").arg(kvHeadsText(status.kvShape)).arg(status.model->config().heads);
    }
    setSummary(parts.join(QStringLiteral(" · ")));
}

void KvCachePanel::showCurve(const Run &run)
{
    const EngineStatus &status = m_context.host.status();
    const KvShape &shape = status.kvShape;
    std::vector<QPointF> points;
    if (m_run != run.start.run) {
        m_run = run.start.run;
        m_steps = 0;
        m_plot->clear();
        if (!shape.layers.empty()) {
            m_plot->setFormula(static_cast<double>(shape.bytesPerToken()) / mebibyte,
                               tr("%1 a token").arg(formatBytes(shape.bytesPerToken())));
            m_plot->setLimit(status.session.contextTokens,
                             tr("context %1").arg(formatCount(status.session.contextTokens)));
        }
        m_plot->setPhaseMarker(static_cast<double>(run.start.prompt.size()), tr("prefill"), tr("decode"));
        // the prompt took its blocks one after the other; the first step's record says what it ended with
        if (!run.steps.empty() && run.steps.front().kvBlocks > 0) {
            const StepRecord &first = run.steps.front();
            const double perBlock = static_cast<double>(first.kvBytes) / first.kvBlocks / mebibyte;
            const double blockTokens = shape.blockTokens;
            for (std::uint32_t block = 0; block < first.kvBlocks && block * blockTokens < first.kvTokens;
                 ++block)
                points.push_back(QPointF(block * blockTokens, (block + 1) * perBlock));
        }
    }
    if (m_steps == 0 && points.empty() && !run.steps.empty() && run.steps.front().kvBlocks > 0) {
        m_run = {}; // the prefill was shown before its first step was known
        showCurve(run);
        return;
    }
    for (; m_steps < run.steps.size(); ++m_steps)
        points.push_back(
            QPointF(run.steps[m_steps].kvTokens, static_cast<double>(run.steps[m_steps].kvBytes) / mebibyte));
    m_plot->append(points);
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    m_plot->setSelected(record && record->ref.run == run.start.run ? record->kvTokens : qQNaN());
}

void KvCachePanel::showBlocks(const Run &run)
{
    const EngineStatus &status = m_context.host.status();
    const std::uint32_t blockTokens = std::max(1U, status.kvShape.blockTokens);
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    const std::uint32_t tokens = record && record->ref.run == run.start.run
                                     ? record->kvTokens
                                     : static_cast<std::uint32_t>(run.start.prompt.size());
    const std::uint32_t used = (tokens + blockTokens - 1) / blockTokens;
    const std::uint32_t capacity =
        std::max(used, (status.session.contextTokens + blockTokens - 1) / blockTokens);
    const std::uint32_t reused = run.start.reusedTokens / blockTokens;
    std::vector<Block> blocks(capacity);
    for (std::uint32_t i = 0; i < capacity; ++i) {
        const std::uint32_t first = i * blockTokens;
        const std::uint32_t inside = std::min(blockTokens, tokens > first ? tokens - first : 0);
        blocks[i].fill = static_cast<float>(inside) / static_cast<float>(blockTokens);
        blocks[i].state = inside == 0 ? BlockState::Free : i < reused ? BlockState::Reused : BlockState::Used;
    }
    m_blocks->setBlocks(std::move(blocks));
    m_blocks->setBlockText([tokens, blockTokens, reused](int block) {
        const auto index = static_cast<std::uint32_t>(block);
        const std::uint32_t first = index * blockTokens;
        if (first >= tokens)
            return tr("block %1: free").arg(block);
        const std::uint32_t last = std::min(first + blockTokens, tokens) - 1;
        return (index < reused ? tr("block %1: tokens %2 to %3, kept from before")
                               : tr("block %1: tokens %2 to %3"))
            .arg(block)
            .arg(first)
            .arg(last);
    });
    m_blocksTitle->setText(tr("Blocks of %1 tokens").arg(blockTokens));
    m_blocksSummary->setText(tr("%1 of %2 · reused %3").arg(used).arg(capacity).arg(reused));
}

} // namespace tokenloupe
