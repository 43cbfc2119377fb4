// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/growthview.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/models/runstore.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/cachegrowth.h"

#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

} // namespace

GrowthView::GrowthView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(2));
    m_warning = new QLabel;
    m_warning->setTextFormat(Qt::PlainText);
    m_warning->setWordWrap(true);
    m_warning->setFont(theme.font(TextRole::Small));
    m_warning->hide();
    column->addWidget(m_warning);
    m_plot = new StepLinePlot(tr("Bytes of the KV cache over tokens"), tr("tokens"), tr("MiB"));
    column->addWidget(m_plot, 1);
    m_note = new ElidedLabel;
    m_note->setFont(theme.font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    column->addWidget(m_note);
    connect(m_plot, &Plot::clicked, this, [this](double x, double) {
        if (m_steps == 0)
            return;
        const double step = std::clamp(x - m_firstX + 0.5, 0.0, static_cast<double>(m_steps) - 1.0);
        Q_EMIT stepClicked(static_cast<int>(step));
    });
    connect(&theme, &Theme::changed, this, &GrowthView::refreshWarningColor);
    refreshWarningColor();
}

void GrowthView::refreshWarningColor()
{
    QPalette palette = m_warning->palette();
    palette.setColor(QPalette::WindowText, Theme::instance().colors().warning);
    m_warning->setPalette(palette);
}

void GrowthView::forget()
{
    m_run = {};
}

void GrowthView::startCurve(const Run &run, const KvShape &shape, std::uint32_t contextTokens)
{
    m_run = run.start.run;
    m_shape = shape;
    m_context = contextTokens;
    m_steps = 0;
    m_plot->clear();
    m_plot->setDips({});
    m_plot->setFormula(growthFormula(shape, contextTokens),
                       tr("%1 a token").arg(formatBytes(shape.bytesPerToken())));
    m_plot->setLimit(contextTokens, tr("context %1").arg(formatCount(contextTokens)));
    m_plot->setPhaseMarker(static_cast<double>(run.start.prompt.size()), tr("prefill"), tr("decode"));
}

void GrowthView::setRun(const Run &run, const KvShape &shape, std::uint32_t contextTokens,
                        const CacheSnapshot *snapshot)
{
    if (m_run != run.start.run || m_steps > run.steps.size() || !(m_shape == shape) ||
        m_context != contextTokens)
        startCurve(run, shape, contextTokens);
    std::vector<QPointF> points;
    if (m_steps == 0 && !run.steps.empty()) {
        points = promptStairs(run, shape);
        m_firstX = growthX(run, 0);
    }
    bool dropped = false;
    for (; m_steps < run.steps.size(); ++m_steps) {
        points.push_back(growthPoint(run, m_steps));
        dropped = dropped || run.steps[m_steps].droppedTokens > 0;
    }
    m_plot->append(points);
    if (dropped)
        m_plot->setDips(growthDips(run));
    setBudget(snapshot, contextTokens);
}

void GrowthView::setBudget(const CacheSnapshot *snapshot, std::uint32_t contextTokens)
{
    const std::uint64_t pool = snapshot ? snapshot->poolBytes() : 0;
    const std::uint64_t ends = snapshot ? budgetTokens(*snapshot) : 0;
    if (pool != m_poolBytes) {
        m_poolBytes = pool;
        const bool first = ends > 0 && ends < contextTokens; // else the context ends before the pool does
        m_plot->setBudget(static_cast<double>(pool) / mebibyte, tr("pool %1").arg(formatBytes(pool)),
                          first ? static_cast<double>(ends) : 0.0,
                          tr("pool ends at %1").arg(formatCount(ends)));
    }
    QStringList parts;
    if (snapshot && pool > 0) {
        parts << tr("pool %1, %2 % in use")
                     .arg(formatBytes(pool), formatPercent(static_cast<double>(snapshot->usedBytes()) /
                                                           static_cast<double>(pool)));
        if (ends > 0 && ends < contextTokens)
            parts << tr("ends at %1 tokens").arg(formatCount(ends));
    }
    if (contextTokens > 0)
        parts << tr("context %1").arg(formatCount(contextTokens));
    m_note->setText(parts.join(QStringLiteral(" · ")));
    m_note->setVisible(!parts.isEmpty());
}

void GrowthView::setSelected(std::optional<StepIndex> step, const Run &run)
{
    m_plot->setSelected(step && step->value() < run.steps.size() ? growthX(run, step->value()) : qQNaN());
}

void GrowthView::setWarning(const QString &warning)
{
    if (warning == m_warning->text())
        return;
    m_warning->setText(warning);
    m_warning->setAccessibleName(warning);
    m_warning->setVisible(!warning.isEmpty());
    fitWarning();
}

// As high as its text at this width. Not by the layout: one that asks for a height by the width gets all that
// it would like in a scroll area, and the panel would scroll where it could as well be lower.
void GrowthView::fitWarning()
{
    QSizePolicy policy = m_warning->sizePolicy();
    policy.setHeightForWidth(false);
    m_warning->setSizePolicy(policy);
    m_warning->setFixedHeight(std::max(1, m_warning->heightForWidth(width())));
}

void GrowthView::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    fitWarning();
}

QString GrowthView::warning() const
{
    return m_warning->text();
}

QString GrowthView::note() const
{
    return m_note->text();
}

} // namespace tokenloupe
