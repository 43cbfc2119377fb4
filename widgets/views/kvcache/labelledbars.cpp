// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/labelledbars.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QAccessible>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double edge = 4.0;       // room at the right for the focus ring
constexpr double nameShare = 0.42; // of the width at most; longer names are cut

QFont bold(QFont font)
{
    font.setWeight(QFont::DemiBold);
    return font;
}

} // namespace

LabelledBars::LabelledBars(const QString &accessibleName, QWidget *parent)
    : QWidget(parent)
{
    setAccessibleName(accessibleName);
    setFont(Theme::instance().font(TextRole::Small));
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void LabelledBars::setBars(std::vector<LabelledBar> bars)
{
    if (bars == m_bars)
        return;
    if (bars.size() != m_bars.size())
        m_current = -1;
    m_bars = std::move(bars);
    QStringList all;
    for (int i = 0; i < static_cast<int>(m_bars.size()); ++i)
        all << textOf(i);
    setAccessibleDescription(all.join(QStringLiteral("; ")));
    updateGeometry();
    update();
}

int LabelledBars::rowHeight() const
{
    return std::max(fontMetrics().height() + 2, Theme::instance().scaled(18));
}

QSize LabelledBars::sizeHint() const
{
    return QSize(Theme::instance().scaled(280), static_cast<int>(m_bars.size()) * rowHeight());
}

QSize LabelledBars::minimumSizeHint() const
{
    return QSize(Theme::instance().scaled(160), sizeHint().height());
}

double LabelledBars::nameWidth() const
{
    const QFontMetricsF metrics(bold(font()));
    double widest = 0.0;
    for (const LabelledBar &bar : m_bars)
        widest = std::max(widest, metrics.horizontalAdvance(bar.name));
    const double dot = Theme::instance().scaled(12);
    return std::min(std::ceil(widest) + dot, width() * nameShare);
}

double LabelledBars::valueWidth() const
{
    double widest = 0.0;
    for (const LabelledBar &bar : m_bars)
        widest = std::max(widest, tabularWidth(font(), bar.valueText));
    return std::ceil(widest);
}

int LabelledBars::barAt(const QPoint &pos) const
{
    const int row = pos.y() / rowHeight();
    return rect().contains(pos) && row < static_cast<int>(m_bars.size()) ? row : -1;
}

QRectF LabelledBars::barRect(int index) const
{
    double most = 0.0;
    for (const LabelledBar &bar : m_bars)
        most = std::max(most, bar.value);
    const double gap = Theme::instance().scaled(8);
    const double left = nameWidth() + gap;
    const double room = std::max(0.0, width() - left - gap - valueWidth() - edge);
    const double share = most > 0.0 ? m_bars[std::size_t(index)].value / most : 0.0;
    return QRectF(left, index * rowHeight() + 3.0, std::max(1.0, room * share), rowHeight() - 6.0);
}

QString LabelledBars::textOf(int index) const
{
    const LabelledBar &bar = m_bars[std::size_t(index)];
    const QString text = bar.name + QStringLiteral(": ") + bar.valueText;
    return bar.own ? text + tr(" (this one)") : text;
}

bool LabelledBars::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const int index = barAt(help->pos());
        QToolTip::showText(help->globalPos(),
                           index < 0 ? QString()
                                     : textOf(index) + QLatin1Char('\n') + m_bars[std::size_t(index)].tooltip,
                           this);
        return true;
    }
    return QWidget::event(event);
}

void LabelledBars::setCurrent(int index)
{
    if (index < 0 || index >= static_cast<int>(m_bars.size()))
        return;
    m_current = index;
    setAccessibleDescription(textOf(index) + QStringLiteral(". ") + m_bars[std::size_t(index)].tooltip);
    QAccessibleEvent announcement(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&announcement);
    QToolTip::showText(mapToGlobal(QPoint(0, (index + 1) * rowHeight())), m_bars[std::size_t(index)].tooltip,
                       this);
    update();
}

void LabelledBars::focusInEvent(QFocusEvent *event)
{
    QWidget::focusInEvent(event);
    if (m_current < 0 && !m_bars.empty())
        m_current = 0;
    update();
}

void LabelledBars::keyPressEvent(QKeyEvent *event)
{
    if (event->key() == Qt::Key_Up)
        setCurrent(m_current - 1);
    else if (event->key() == Qt::Key_Down)
        setCurrent(m_current + 1);
    else
        QWidget::keyPressEvent(event);
}

void LabelledBars::paintEvent(QPaintEvent *)
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double names = nameWidth();
    const double dot = theme.scaled(12);
    for (int i = 0; i < static_cast<int>(m_bars.size()); ++i) {
        const LabelledBar &bar = m_bars[std::size_t(i)];
        const QRectF row(0, i * rowHeight(), width(), rowHeight());
        if (bar.own) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(c.accent);
            painter.drawEllipse(QPointF(theme.scaled(4), row.center().y()), theme.scaled(3), theme.scaled(3));
        }
        painter.setFont(bar.own ? bold(font()) : font());
        painter.setPen(c.text);
        painter.drawText(QRectF(dot, row.top(), names - dot, row.height()), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(painter.font()).elidedText(bar.name, Qt::ElideRight, names - dot));
        drawRounded(painter, barRect(i), 2.0, bar.own ? c.accent : c.stage(StageFamily::Raw),
                    Qt::transparent);
        painter.setFont(font());
        painter.setPen(bar.own ? c.text : c.muted);
        drawTabular(painter, row.adjusted(0, 0, -edge, 0), Qt::AlignRight | Qt::AlignVCenter, bar.valueText);
        if (i == m_current && hasFocus())
            drawFocusRing(painter, row, AppStyle::chipRadius);
    }
}

} // namespace tokenloupe
