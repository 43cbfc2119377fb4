// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/layerbars.h"

#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace tokenloupe {

LayerBars::LayerBars(QWidget *parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Bytes of every layer"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize LayerBars::sizeHint() const
{
    return QSize(Theme::instance().scaled(200), Theme::instance().scaled(22));
}

void LayerBars::setLayers(std::vector<LayerBytes> layers, std::uint64_t tokens)
{
    m_tokens = tokens;
    if (layers == m_layers)
        return;
    m_layers = std::move(layers);
    setAccessibleDescription(m_layers.empty() ? QString() : textOf(0));
    update();
}

int LayerBars::layerAt(const QPoint &pos) const
{
    if (m_layers.empty() || !rect().contains(pos))
        return -1;
    return pos.x() * static_cast<int>(m_layers.size()) / std::max(1, width());
}

QString LayerBars::textOf(int layer) const
{
    const LayerBytes &bytes = m_layers[static_cast<std::size_t>(layer)];
    return tr("layer %1: keys %2, values %3 a token; %4 for %5 tokens")
        .arg(layer)
        .arg(formatBytes(bytes.keys), formatBytes(bytes.values),
             formatBytes((bytes.keys + bytes.values) * m_tokens), formatCount(m_tokens));
}

bool LayerBars::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const int layer = layerAt(help->pos());
        QToolTip::showText(help->globalPos(), layer < 0 ? QString() : textOf(layer), this);
        return true;
    }
    return QWidget::event(event);
}

void LayerBars::paintEvent(QPaintEvent *)
{
    if (m_layers.empty())
        return;
    const ThemeColors &c = Theme::instance().colors();
    QPainter painter(this);
    std::uint64_t most = 1;
    for (const LayerBytes &layer : m_layers)
        most = std::max(most, layer.keys + layer.values);
    const int count = static_cast<int>(m_layers.size());
    const auto heightOf = [&](std::uint64_t bytes) {
        return static_cast<int>(static_cast<double>(bytes) / static_cast<double>(most) * height());
    };
    for (int i = 0; i < count; ++i) {
        const int left = i * width() / count;
        const int right = (i + 1) * width() / count;
        const int gap = right - left > 4 ? 2 : right - left > 2 ? 1 : 0;
        const LayerBytes &layer = m_layers[static_cast<std::size_t>(i)];
        const int all = heightOf(layer.keys + layer.values);
        const int keys = heightOf(layer.keys);
        painter.fillRect(QRect(left, height() - all, right - left - gap, all - keys),
                         c.stage(StageFamily::MassCut));
        painter.fillRect(QRect(left, height() - keys, right - left - gap, keys),
                         c.stage(StageFamily::CountCut));
    }
}

} // namespace tokenloupe
