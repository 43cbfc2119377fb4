// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/appstyle.h"

#include "widgets/theme/theme.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QPainter>
#include <QPainterPath>
#include <QStyleOption>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>

namespace tokenloupe {

namespace {

const ThemeColors &colors()
{
    return Theme::instance().colors();
}

int scaled(int px)
{
    return Theme::instance().scaled(px);
}

QColor hovered(const QColor &base)
{
    return blended(base, colors().text, 0.06);
}

// A button's ground: accent when it is on or the default one, else panel with a border. `raised`: always
// visible.
enum class Ground { Flat, Raised };

void drawButtonGround(QPainter &painter, const QStyleOption &option, Ground ground, QStyle::State accentWhen,
                      bool isDefault)
{
    const ThemeColors &c = colors();
    const bool enabled = option.state & QStyle::State_Enabled;
    const bool over = enabled && (option.state & QStyle::State_MouseOver);
    const bool down = enabled && (option.state & QStyle::State_Sunken);
    const QRectF rect(option.rect);
    if (enabled && (isDefault || (option.state & accentWhen))) {
        const QColor fill = down   ? blended(c.accent, c.text, 0.2)
                            : over ? blended(c.accent, c.text, 0.1)
                                   : c.accent;
        drawRounded(painter, rect, AppStyle::controlRadius, fill, Qt::transparent);
    } else if (ground == Ground::Raised) {
        const QColor fill = down ? c.softAccent : over ? hovered(c.panel) : c.panel;
        drawRounded(painter, rect, AppStyle::controlRadius, fill, c.line);
    } else if (over || down || (option.state & QStyle::State_On)) {
        drawRounded(painter, rect, AppStyle::controlRadius, down ? c.softAccent : hovered(c.panel),
                    Qt::transparent);
    }
    if ((option.state & QStyle::State_HasFocus) && (option.state & QStyle::State_KeyboardFocusChange))
        drawFocusRing(painter, rect, AppStyle::controlRadius);
}

// Tool bars make their buttons auto-raise; in ours they look like buttons.
bool isFlat(const QStyleOption &option, const QWidget *widget)
{
    return (option.state & QStyle::State_AutoRaise) &&
           !(widget && qobject_cast<QToolBar *>(widget->parentWidget()));
}

void drawChevron(QPainter &painter, const QRectF &rect, int direction, const QColor &color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const QPointF m = rect.center();
    const double w = scaled(7) / 2.0;
    const double h = scaled(4) / 2.0 * direction;
    painter.drawPolyline(
        QPolygonF{QPointF(m.x() - w, m.y() - h), QPointF(m.x(), m.y() + h), QPointF(m.x() + w, m.y() - h)});
    painter.restore();
}

void drawIndicator(QPainter &painter, const QStyleOption &option, double radius)
{
    const ThemeColors &c = colors();
    const bool enabled = option.state & QStyle::State_Enabled;
    const bool on = option.state & (QStyle::State_On | QStyle::State_NoChange);
    const QRectF rect = QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5);
    const QColor accent = enabled ? c.accent : c.faint;
    drawRounded(painter, rect, radius, on ? accent : c.panel, on ? accent : c.faint);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF m = rect.center();
    const double u = rect.width() / 16.0;
    if (radius > rect.width() / 3 && on) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(c.onAccent);
        painter.drawEllipse(m, 3 * u, 3 * u);
    } else if (option.state & QStyle::State_NoChange) {
        painter.setPen(QPen(c.onAccent, 1.8, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(QPointF(m.x() - 4 * u, m.y()), QPointF(m.x() + 4 * u, m.y()));
    } else if (on) {
        painter.setPen(QPen(c.onAccent, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.drawPolyline(QPolygonF{QPointF(m.x() - 4 * u, m.y()), QPointF(m.x() - 1 * u, m.y() + 3 * u),
                                       QPointF(m.x() + 4 * u, m.y() - 3 * u)});
    }
    painter.restore();
    if (option.state & QStyle::State_HasFocus)
        drawFocusRing(painter, QRectF(option.rect).adjusted(-2, -2, 2, 2), radius + 2);
}

void drawTabShape(QPainter &painter, const QStyleOptionTab &tab)
{
    const ThemeColors &c = colors();
    const QRect r = tab.rect;
    if ((tab.state & QStyle::State_MouseOver) && !(tab.state & QStyle::State_Selected) &&
        (tab.state & QStyle::State_Enabled))
        drawRounded(painter, QRectF(r).adjusted(scaled(4), scaled(4), -scaled(4), -scaled(5)),
                    AppStyle::controlRadius, hovered(c.panel), Qt::transparent);
    if (!(tab.state & QStyle::State_Selected))
        return;
    const bool south = tab.shape == QTabBar::RoundedSouth || tab.shape == QTabBar::TriangularSouth;
    painter.fillRect(QRect(r.left(), south ? r.top() : r.bottom() - 1, r.width(), 2), c.accent);
}

void drawTabLabel(QPainter &painter, const QStyleOptionTab &tab)
{
    const ThemeColors &c = colors();
    painter.save();
    QFont font = painter.font();
    const bool selected = tab.state & QStyle::State_Selected;
    if (selected)
        font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(!(tab.state & QStyle::State_Enabled) ? c.faint : selected ? c.text : c.mutedOnTint);
    QRect r = tab.rect;
    if (!tab.icon.isNull()) {
        const int size = scaled(16);
        tab.icon.paint(&painter, QRect(r.left() + scaled(10), r.top(), size, r.height()), Qt::AlignCenter);
        r.setLeft(r.left() + size + scaled(12));
    }
    if (!tab.rightButtonSize.isEmpty())
        r.setRight(r.right() - tab.rightButtonSize.width());
    painter.drawText(r, Qt::AlignCenter | Qt::TextShowMnemonic, tab.text);
    painter.restore();
    if ((tab.state & QStyle::State_HasFocus) && selected)
        drawFocusRing(painter, QRectF(tab.rect).adjusted(2, 2, -2, -3), AppStyle::chipRadius);
}

void drawScrollBar(QPainter &painter, const QStyleOptionSlider &bar, const QStyle &style,
                   const QWidget *widget)
{
    if (bar.maximum <= bar.minimum)
        return;
    const ThemeColors &c = colors();
    QRectF slider = style.subControlRect(QStyle::CC_ScrollBar, &bar, QStyle::SC_ScrollBarSlider, widget);
    const bool active = bar.state & (QStyle::State_Sunken | QStyle::State_MouseOver);
    const double inset = active ? 2.0 : 3.0;
    slider.adjust(inset, inset, -inset, -inset);
    drawRounded(painter, slider, std::min(slider.width(), slider.height()) / 2.0, active ? c.muted : c.faint,
                Qt::transparent);
}

void drawSlider(QPainter &painter, const QStyleOptionSlider &slider, const QStyle &style,
                const QWidget *widget)
{
    const ThemeColors &c = colors();
    const bool enabled = slider.state & QStyle::State_Enabled;
    const QRectF handle =
        QRectF(style.subControlRect(QStyle::CC_Slider, &slider, QStyle::SC_SliderHandle, widget))
            .adjusted(1, 1, -1, -1);
    const bool horizontal = slider.orientation == Qt::Horizontal;
    QRectF groove = slider.rect;
    const double half = scaled(4) / 2.0;
    if (horizontal)
        groove = QRectF(groove.left(), groove.center().y() - half, groove.width(), 2 * half);
    else
        groove = QRectF(groove.center().x() - half, groove.top(), 2 * half, groove.height());
    drawRounded(painter, groove, half, c.line, Qt::transparent);
    QRectF filled = groove;
    if (horizontal)
        slider.upsideDown ? filled.setLeft(handle.center().x()) : filled.setRight(handle.center().x());
    else
        slider.upsideDown ? filled.setTop(handle.center().y()) : filled.setBottom(handle.center().y());
    drawRounded(painter, filled, half, enabled ? c.accent : c.faint, Qt::transparent);
    drawRounded(painter, handle, handle.width() / 2.0, enabled ? c.panel : c.grid,
                enabled ? c.accent : c.faint);
    if (slider.state & QStyle::State_HasFocus)
        drawFocusRing(painter, handle.adjusted(-1, -1, 1, 1), handle.width() / 2.0);
}

void drawField(QPainter &painter, const QStyleOption &option)
{
    const ThemeColors &c = colors();
    const bool enabled = option.state & QStyle::State_Enabled;
    drawRounded(painter, option.rect, AppStyle::controlRadius, enabled ? c.panel : c.window, c.line);
    if (option.state & QStyle::State_HasFocus)
        drawFocusRing(painter, option.rect, AppStyle::controlRadius);
}

// An option whose label is drawn on the accent.
template <class Option>
Option onAccent(const Option &option)
{
    Option copy(option);
    copy.palette.setColor(QPalette::ButtonText, colors().onAccent);
    copy.palette.setColor(QPalette::WindowText, colors().onAccent);
    copy.state |= QStyle::State_On; // icons have their accent colour in that state
    return copy;
}

} // namespace

void drawRounded(QPainter &painter, const QRectF &rect, double radius, const QColor &fill,
                 const QColor &border)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(border.alpha() == 0 ? QPen(Qt::NoPen) : QPen(border, 1.0));
    painter.setBrush(fill.alpha() == 0 ? QBrush(Qt::NoBrush) : QBrush(fill));
    painter.drawRoundedRect(border.alpha() == 0 ? rect : rect.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    painter.restore();
}

void drawFocusRing(QPainter &painter, const QRectF &rect, double radius)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colors().accent, 2.0));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius);
    painter.restore();
}

void AppStyle::drawPrimitive(PrimitiveElement element, const QStyleOption *option, QPainter *painter,
                             const QWidget *widget) const
{
    const ThemeColors &c = colors();
    switch (element) {
    case PE_PanelButtonCommand: {
        const auto *button = qstyleoption_cast<const QStyleOptionButton *>(option);
        const bool flat = button && (button->features & QStyleOptionButton::Flat);
        const bool isDefault = button && (button->features & QStyleOptionButton::DefaultButton);
        drawButtonGround(*painter, *option, flat ? Ground::Flat : Ground::Raised, State_On, isDefault);
        return;
    }
    case PE_PanelButtonTool: {
        const bool flat = isFlat(*option, widget);
        drawButtonGround(*painter, *option, flat ? Ground::Flat : Ground::Raised,
                         flat ? State_None : State_On, false);
        return;
    }
    case PE_FrameDefaultButton:
    case PE_IndicatorDockWidgetResizeHandle:
    case PE_FrameStatusBarItem:
    case PE_PanelStatusBar:
    case PE_IndicatorToolBarSeparator:
    case PE_FrameButtonTool:
    case PE_FrameTabWidget:
    case PE_PanelMenuBar:
    case PE_IndicatorToolBarHandle:
        return;
    case PE_FrameFocusRect:
        drawFocusRing(*painter, option->rect, chipRadius);
        return;
    case PE_Frame:
        drawRounded(*painter, option->rect, controlRadius, Qt::transparent, c.line);
        return;
    case PE_PanelLineEdit: {
        const auto *frame = qstyleoption_cast<const QStyleOptionFrame *>(option);
        if (frame && frame->lineWidth > 0)
            drawField(*painter, *option);
        return;
    }
    case PE_FrameTabBarBase:
        if (const auto *base = qstyleoption_cast<const QStyleOptionTabBarBase *>(option)) {
            const bool south =
                base->shape == QTabBar::RoundedSouth || base->shape == QTabBar::TriangularSouth;
            const int y = south ? option->rect.top() : option->rect.bottom();
            painter->fillRect(QRect(option->rect.left(), y, option->rect.width(), 1), c.line);
        }
        return;
    case PE_FrameMenu:
        return;
    case PE_PanelMenu:
    case PE_PanelTipLabel:
        painter->fillRect(option->rect, c.line);
        painter->fillRect(option->rect.adjusted(1, 1, -1, -1), c.panel);
        return;
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck:
        drawIndicator(*painter, *option, chipRadius);
        return;
    case PE_IndicatorRadioButton:
        drawIndicator(*painter, *option, option->rect.width() / 2.0);
        return;
    case PE_IndicatorArrowDown:
    case PE_IndicatorSpinDown:
    case PE_IndicatorButtonDropDown:
        drawChevron(*painter, option->rect, 1, option->state & State_Enabled ? c.muted : c.faint);
        return;
    case PE_IndicatorArrowUp:
    case PE_IndicatorSpinUp:
        drawChevron(*painter, option->rect, -1, option->state & State_Enabled ? c.muted : c.faint);
        return;
    case PE_PanelItemViewItem:
        if (option->state & State_Selected)
            painter->fillRect(option->rect, c.softAccent);
        else if ((option->state & State_MouseOver) && (option->state & State_Enabled))
            painter->fillRect(option->rect, blended(c.panel, c.grid, 0.6));
        return;
    case PE_PanelItemViewRow:
        if (option->state & State_Selected)
            painter->fillRect(option->rect, c.softAccent);
        return;
    default:
        QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
}

void AppStyle::drawControl(ControlElement element, const QStyleOption *option, QPainter *painter,
                           const QWidget *widget) const
{
    const ThemeColors &c = colors();
    switch (element) {
    case CE_TabBarTabShape:
        if (const auto *tab = qstyleoption_cast<const QStyleOptionTab *>(option))
            drawTabShape(*painter, *tab);
        return;
    case CE_TabBarTabLabel:
        if (const auto *tab = qstyleoption_cast<const QStyleOptionTab *>(option))
            drawTabLabel(*painter, *tab);
        return;
    case CE_Splitter:
    case CE_ShapedFrame:
        if (element == CE_Splitter)
            return;
        break;
    case CE_ToolBar:
        painter->fillRect(option->rect, c.panel);
        painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1), c.line);
        return;
    case CE_PushButtonLabel:
        if (const auto *button = qstyleoption_cast<const QStyleOptionButton *>(option);
            button && (option->state & State_Enabled) &&
            ((button->features & QStyleOptionButton::DefaultButton) || (option->state & State_On))) {
            const QStyleOptionButton copy = onAccent(*button);
            QProxyStyle::drawControl(element, &copy, painter, widget);
            return;
        }
        break;
    case CE_ToolButtonLabel:
        if (const auto *button = qstyleoption_cast<const QStyleOptionToolButton *>(option)) {
            QStyleOptionToolButton copy(*button);
            const auto *owner = qobject_cast<const QToolButton *>(widget);
            if (owner && owner->menu() && owner->popupMode() == QToolButton::InstantPopup)
                copy.rect.adjust(0, 0, -menuChevronRoom(), 0);
            if ((option->state & State_On) && (option->state & State_Enabled)) {
                if (isFlat(*option, widget))
                    copy.state &= ~State_On; // no accent behind it
                else
                    copy = onAccent(*button);
            }
            QProxyStyle::drawControl(element, &copy, painter, widget);
            return;
        }
        break;
    case CE_HeaderSection:
    case CE_HeaderEmptyArea:
        painter->fillRect(option->rect, c.panel);
        painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1), c.line);
        return;
    case CE_HeaderLabel:
        if (const auto *header = qstyleoption_cast<const QStyleOptionHeader *>(option)) {
            QStyleOptionHeader copy(*header);
            copy.palette.setColor(QPalette::ButtonText, c.muted);
            QProxyStyle::drawControl(element, &copy, painter, widget);
            return;
        }
        break;
    case CE_MenuItem:
    case CE_MenuBarItem:
        if (const auto *item = qstyleoption_cast<const QStyleOptionMenuItem *>(option)) {
            QStyleOptionMenuItem copy(*item);
            copy.palette.setColor(QPalette::Highlight, c.softAccent);
            copy.palette.setColor(QPalette::HighlightedText, c.text);
            if (item->menuItemType == QStyleOptionMenuItem::Separator) {
                painter->fillRect(QRect(option->rect.left() + scaled(8), option->rect.center().y(),
                                        option->rect.width() - scaled(16), 1),
                                  c.line);
                return;
            }
            QProxyStyle::drawControl(element, &copy, painter, widget);
            return;
        }
        break;
    case CE_ItemViewItem:
        if (const auto *item = qstyleoption_cast<const QStyleOptionViewItem *>(option)) {
            QStyleOptionViewItem copy(*item);
            copy.palette.setColor(QPalette::Highlight, c.softAccent);
            copy.palette.setColor(QPalette::HighlightedText, c.text);
            QProxyStyle::drawControl(element, &copy, painter, widget);
            return;
        }
        break;
    case CE_ProgressBarGroove:
        drawRounded(*painter, option->rect, 3, c.grid, Qt::transparent);
        return;
    case CE_ProgressBarContents:
        if (const auto *bar = qstyleoption_cast<const QStyleOptionProgressBar *>(option)) {
            QRectF filled = option->rect;
            const double range = static_cast<double>(bar->maximum) - bar->minimum;
            filled.setWidth(range > 0 ? filled.width() * (bar->progress - bar->minimum) / range
                                      : filled.width());
            drawRounded(*painter, filled, 3, range > 0 ? c.accent : c.softAccent, Qt::transparent);
        }
        return;
    default:
        break;
    }
    QProxyStyle::drawControl(element, option, painter, widget);
}

void AppStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex *option,
                                  QPainter *painter, const QWidget *widget) const
{
    const ThemeColors &c = colors();
    const QColor mark = option->state & State_Enabled ? c.muted : c.faint;
    switch (control) {
    case CC_ScrollBar:
        if (const auto *bar = qstyleoption_cast<const QStyleOptionSlider *>(option)) {
            drawScrollBar(*painter, *bar, *this, widget);
            return;
        }
        break;
    case CC_Slider:
        if (const auto *slider = qstyleoption_cast<const QStyleOptionSlider *>(option)) {
            drawSlider(*painter, *slider, *this, widget);
            return;
        }
        break;
    case CC_ToolButton:
        // A button that only opens a menu: one chevron in the middle of its right end.
        if (const auto *button = qstyleoption_cast<const QStyleOptionToolButton *>(option);
            button && button->features & QStyleOptionToolButton::HasMenu &&
            !(button->features & QStyleOptionToolButton::MenuButtonPopup)) {
            QStyleOptionToolButton copy(*button);
            copy.features &= ~QStyleOptionToolButton::HasMenu;
            const int room = menuChevronRoom();
            QProxyStyle::drawComplexControl(control, &copy, painter, widget);
            const QRect end(option->rect.right() - room, option->rect.top(), room, option->rect.height());
            drawChevron(*painter, end, 1, mark);
            return;
        }
        break;
    case CC_ComboBox:
        if (const auto *box = qstyleoption_cast<const QStyleOptionComboBox *>(option)) {
            if (box->frame)
                drawField(*painter, *option);
            else if (option->state & State_MouseOver)
                drawRounded(*painter, option->rect, controlRadius, hovered(c.panel), Qt::transparent);
            drawChevron(*painter, subControlRect(CC_ComboBox, option, SC_ComboBoxArrow, widget), 1, mark);
            return;
        }
        break;
    case CC_SpinBox:
        if (const auto *box = qstyleoption_cast<const QStyleOptionSpinBox *>(option)) {
            if (box->frame)
                drawField(*painter, *option);
            if (box->buttonSymbols != QAbstractSpinBox::NoButtons) {
                drawChevron(*painter, subControlRect(CC_SpinBox, option, SC_SpinBoxUp, widget), -1,
                            box->stepEnabled & QAbstractSpinBox::StepUpEnabled ? mark : c.line);
                drawChevron(*painter, subControlRect(CC_SpinBox, option, SC_SpinBoxDown, widget), 1,
                            box->stepEnabled & QAbstractSpinBox::StepDownEnabled ? mark : c.line);
            }
            return;
        }
        break;
    default:
        break;
    }
    QProxyStyle::drawComplexControl(control, option, painter, widget);
}

} // namespace tokenloupe
