// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/stackedbar.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

QColor StackedBar::segmentColor(int index)
{
    // order of the drawing: weights blue, cache green, activations orange, logits purple, trace grey, then
    // accent
    static constexpr std::array order{StageFamily::CountCut,    StageFamily::MassCut, StageFamily::Penalties,
                                      StageFamily::Temperature, StageFamily::Raw,     StageFamily::Draw};
    const std::size_t size = order.size();
    return Theme::instance().colors().stage(order[static_cast<std::size_t>(std::max(0, index)) % size]);
}

StackedBar::StackedBar(Legend legend, QWidget *parent)
    : QWidget(parent)
    , m_legend(legend)
{
    setMouseTracking(true);
    setFont(Theme::instance().font(TextRole::Heading));
    QFont plain = font();
    plain.setWeight(QFont::Normal);
    setFont(plain);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(legend == Legend::Shown);
    setSizePolicy(policy);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StackedBar::setSegments(std::vector<BarSegment> segments)
{
    const bool resized = segments.size() != m_segments.size();
    m_segments = std::move(segments);
    if (resized) {
        m_hovered = -1;
        updateGeometry();
    }
    QString description;
    for (const BarSegment &segment : m_segments)
        description += (description.isEmpty() ? QString() : QStringLiteral(", ")) + segment.name +
                       QLatin1Char(' ') + segment.valueText;
    setAccessibleDescription(description);
    update();
}

void StackedBar::setFullScale(double value)
{
    m_fullScale = value;
    update();
}

void StackedBar::setMarker(double value, const QString &tooltip)
{
    m_marker = value;
    m_markerTip = tooltip;
    update();
}

double StackedBar::sum() const
{
    double total = 0.0;
    for (const BarSegment &segment : m_segments)
        total += std::max(0.0, segment.value);
    return total;
}

double StackedBar::fullScale() const
{
    return std::max({sum(), m_fullScale, m_marker, 1e-300});
}

int StackedBar::barHeight() const
{
    return Theme::instance().scaled(18);
}

int StackedBar::columns(int width) const
{
    const Theme &theme = Theme::instance();
    return width >= theme.scaled(540) ? 3 : width >= theme.scaled(260) ? 2 : 1;
}

QSize StackedBar::sizeHint() const
{
    const int width = Theme::instance().scaled(280);
    return QSize(width, heightForWidth(width));
}

QSize StackedBar::minimumSizeHint() const
{
    const int width = Theme::instance().scaled(140);
    return QSize(width,
                 m_legend == Legend::Shown ? heightForWidth(Theme::instance().scaled(260)) : barHeight());
}

int StackedBar::heightForWidth(int width) const
{
    if (m_legend == Legend::Hidden || m_segments.empty())
        return barHeight();
    const int count = static_cast<int>(m_segments.size());
    const int rows = (count + columns(width) - 1) / columns(width);
    return barHeight() + Theme::instance().scaled(6) +
           rows * (fontMetrics().height() + Theme::instance().scaled(2));
}

QRectF StackedBar::barRect() const
{
    return QRectF(0, 0, width(), barHeight());
}

QRectF StackedBar::segmentRect(int index) const
{
    const double perUnit = barRect().width() / fullScale();
    double x = 0.0;
    for (int i = 0; i < index; ++i)
        x += std::max(0.0, m_segments[static_cast<std::size_t>(i)].value) * perUnit;
    return QRectF(x, 0, std::max(0.0, m_segments[static_cast<std::size_t>(index)].value) * perUnit,
                  barHeight());
}

QRectF StackedBar::legendRect(int index) const
{
    if (m_legend == Legend::Hidden)
        return {};
    const Theme &theme = Theme::instance();
    const int count = columns(width());
    const double gap = theme.scaled(16);
    const double cell = (width() - gap * (count - 1)) / count;
    const double line = fontMetrics().height() + theme.scaled(2);
    return QRectF((index % count) * (cell + gap), barHeight() + theme.scaled(6) + (index / count) * line,
                  cell, line);
}

int StackedBar::segmentAt(const QPoint &pos) const
{
    for (int i = 0; i < static_cast<int>(m_segments.size()); ++i)
        if (segmentRect(i).contains(pos) || legendRect(i).contains(pos))
            return i;
    return -1;
}

void StackedBar::setHovered(int index)
{
    if (m_hovered == index)
        return;
    m_hovered = index;
    update();
    Q_EMIT hovered(index);
}

void StackedBar::mouseMoveEvent(QMouseEvent *event)
{
    setHovered(segmentAt(event->position().toPoint()));
}

void StackedBar::leaveEvent(QEvent *)
{
    setHovered(-1);
}

bool StackedBar::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const int index = segmentAt(help->pos());
        QString text;
        if (m_marker >= 0.0 && barRect().contains(help->pos()) &&
            std::abs(help->pos().x() - m_marker / fullScale() * width()) < 4)
            text = m_markerTip;
        else if (index >= 0)
            text = m_segments[static_cast<std::size_t>(index)].tooltip;
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

void StackedBar::paintEvent(QPaintEvent *)
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath outline;
    outline.addRoundedRect(barRect(), AppStyle::chipRadius, AppStyle::chipRadius);
    painter.save();
    painter.setClipPath(outline);
    painter.fillRect(barRect(), c.chip);
    const int count = static_cast<int>(m_segments.size());
    for (int i = 0; i < count; ++i) {
        const QColor color = segmentColor(m_segments[static_cast<std::size_t>(i)].color);
        const QRectF rect = segmentRect(i);
        painter.fillRect(rect, i == m_hovered ? blended(color, c.text, 0.2) : color);
        // a hairline between neighbours: their edge does not depend on telling two colours apart
        if (i > 0 && rect.width() > 2.0)
            painter.fillRect(QRectF(rect.left() - 0.5, 0, 1, rect.height()), c.panel);
    }
    painter.restore();
    if (m_marker >= 0.0) {
        const double x = std::min(m_marker / fullScale() * width(), width() - 1.0);
        painter.fillRect(QRectF(x - 1.5, 0, 3, barHeight()), c.panel);
        painter.fillRect(QRectF(x - 0.5, 0, 1, barHeight()), c.text);
    }
    if (m_legend == Legend::Hidden)
        return;
    painter.setFont(font());
    const QFontMetricsF metrics(font());
    const double square = theme.scaled(8);
    for (int i = 0; i < count; ++i) {
        const BarSegment &segment = m_segments[static_cast<std::size_t>(i)];
        const QRectF cell = legendRect(i);
        drawRounded(painter, QRectF(cell.left(), cell.center().y() - square / 2, square, square), 2,
                    segmentColor(segment.color), Qt::transparent);
        painter.setPen(c.text);
        const double value = tabularWidth(font(), segment.valueText);
        const QRectF name = cell.adjusted(square + theme.scaled(6), 0, -value - theme.scaled(6), 0);
        painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(segment.name, Qt::ElideRight, name.width()));
        drawTabular(painter, cell, Qt::AlignRight | Qt::AlignVCenter, segment.valueText);
    }
}

} // namespace tokenloupe
