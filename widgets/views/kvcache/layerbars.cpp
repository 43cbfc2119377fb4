// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/layerbars.h"

#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace tokenloupe {

LayerBars::LayerBars(QWidget *parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Bytes of every layer"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::TabFocus);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize LayerBars::sizeHint() const
{
    return QSize(Theme::instance().scaled(200), Theme::instance().scaled(32));
}

void LayerBars::setLayers(std::vector<LayerBytes> layers, std::uint64_t tokens)
{
    m_tokens = tokens;
    if (layers == m_layers)
        return;
    if (layers.size() != m_layers.size())
        m_current = -1;
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
    const std::uint64_t held = bytes.window > 0 ? std::min<std::uint64_t>(bytes.window, m_tokens) : m_tokens;
    const QString text = tr("layer %1: keys %2, values %3 a token; %4 for %5 tokens")
                             .arg(layer)
                             .arg(formatBytes(bytes.keys), formatBytes(bytes.values),
                                  formatBytes((bytes.keys + bytes.values) * held), formatCount(held));
    return bytes.window > 0 ? text + tr("; window %1").arg(formatCount(bytes.window)) : text;
}

bool LayerBars::hasWindows() const
{
    return std::any_of(m_layers.begin(), m_layers.end(),
                       [](const LayerBytes &layer) { return layer.window > 0; });
}

void LayerBars::setCurrent(int layer)
{
    if (layer < 0 || layer >= static_cast<int>(m_layers.size()))
        return;
    m_current = layer;
    setAccessibleDescription(textOf(layer));
    QAccessibleEvent announcement(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&announcement);
    QToolTip::showText(mapToGlobal(QPoint(layer * width() / static_cast<int>(m_layers.size()), height())),
                       textOf(layer), this);
    update();
}

void LayerBars::focusInEvent(QFocusEvent *event)
{
    QWidget::focusInEvent(event);
    if (m_current < 0 && !m_layers.empty())
        m_current = 0;
    update();
}

void LayerBars::keyPressEvent(QKeyEvent *event)
{
    switch (event->key()) {
    case Qt::Key_Left:
        setCurrent(m_current - 1);
        return;
    case Qt::Key_Right:
        setCurrent(m_current + 1);
        return;
    case Qt::Key_Home:
        setCurrent(0);
        return;
    case Qt::Key_End:
        setCurrent(static_cast<int>(m_layers.size()) - 1);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

bool LayerBars::event(QEvent *event)
{
    // Left and Right are shortcuts of the window too (previous and next step): here they walk.
    if (event->type() == QEvent::ShortcutOverride && !m_layers.empty()) {
        auto *key = static_cast<QKeyEvent *>(event);
        if ((key->key() == Qt::Key_Left || key->key() == Qt::Key_Right || key->key() == Qt::Key_Home ||
             key->key() == Qt::Key_End) &&
            key->modifiers() == Qt::NoModifier) {
            key->accept();
            return true;
        }
    }
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
    const int mark = hasWindows() ? Theme::instance().scaled(5) : 0; // room for the lines below
    const int bottom = height() - mark;
    const auto heightOf = [&](std::uint64_t bytes) {
        return static_cast<int>(static_cast<double>(bytes) / static_cast<double>(most) * bottom);
    };
    for (int i = 0; i < count; ++i) {
        const int left = i * width() / count;
        const int right = (i + 1) * width() / count;
        const int gap = right - left > 4 ? 2 : right - left > 2 ? 1 : 0;
        const int wide = right - left - gap;
        const LayerBytes &layer = m_layers[static_cast<std::size_t>(i)];
        const int all = heightOf(layer.keys + layer.values);
        const int keys = heightOf(layer.keys);
        painter.fillRect(QRect(left, bottom - all, wide, all - keys), c.stage(StageFamily::MassCut));
        painter.fillRect(QRect(left, bottom - keys, wide, keys), c.stage(StageFamily::CountCut));
        // a hairline between the two: their edge does not depend on telling two colours apart
        if (keys > 1 && all > keys)
            painter.fillRect(QRect(left, bottom - keys, wide, 1), c.panel);
        if (layer.window > 0)
            painter.fillRect(QRect(left, bottom + mark / 2, wide, std::max(2, mark / 2)), c.muted);
        if (i == m_current && hasFocus()) {
            painter.setPen(QPen(c.text, 2.0));
            painter.drawRect(QRect(left + 1, 1, std::max(1, wide - 2), height() - 2));
        }
    }
}

} // namespace tokenloupe
