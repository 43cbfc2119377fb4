// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/toggleswitch.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QEvent>
#include <QPainter>

namespace tokenloupe {

QSize toggleSize()
{
    const Theme &theme = Theme::instance();
    return QSize(theme.scaled(24), theme.scaled(14));
}

void paintToggle(QPainter &painter, const QRectF &rect, ToggleState state, const QStyle::State &flags)
{
    const ThemeColors &c = Theme::instance().colors();
    const QSizeF size = toggleSize();
    const QRectF track(rect.center() - QPointF(size.width(), size.height()) / 2.0, size);
    const bool enabled = flags & QStyle::State_Enabled;
    const bool on = state == ToggleState::On;
    QColor ground = on ? c.accent : blended(c.panel, c.muted, 0.75);
    if (!enabled)
        ground = blended(c.panel, ground, 0.4);
    else if (flags & QStyle::State_MouseOver)
        ground = blended(ground, c.text, 0.12);
    const double radius = track.height() / 2.0;
    drawRounded(painter, track, radius, ground, Qt::transparent);
    const double knob = track.height() - 4.0;
    const QPointF corner(on ? track.right() - knob - 2.0 : track.left() + 2.0, track.top() + 2.0);
    drawRounded(painter, QRectF(corner, QSizeF(knob, knob)), knob / 2.0, on ? c.onAccent : c.panel,
                Qt::transparent);
    if (flags & QStyle::State_HasFocus)
        drawFocusRing(painter, track.adjusted(-3, -3, 3, 3), radius + 3);
}

ToggleSwitch::ToggleSwitch(const QString &accessibleName, QWidget *parent)
    : QAbstractButton(parent)
{
    setCheckable(true);
    setAccessibleName(accessibleName);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_Hover);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize ToggleSwitch::sizeHint() const
{
    return toggleSize() + QSize(8, 8); // the focus ring stands outside of the track
}

bool ToggleSwitch::event(QEvent *event)
{
    if (event->type() == QEvent::EnabledChange)
        setCursor(isEnabled() ? Qt::PointingHandCursor : Qt::ArrowCursor);
    return QAbstractButton::event(event);
}

void ToggleSwitch::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    QStyle::State flags = QStyle::State_None;
    flags.setFlag(QStyle::State_Enabled, isEnabled());
    flags.setFlag(QStyle::State_MouseOver, underMouse());
    flags.setFlag(QStyle::State_HasFocus, hasFocus());
    paintToggle(painter, rect(), isChecked() ? ToggleState::On : ToggleState::Off, flags);
}

} // namespace tokenloupe
