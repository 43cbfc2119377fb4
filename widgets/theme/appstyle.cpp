// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/appstyle.h"

#include "widgets/theme/theme.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QStyleFactory>
#include <QStyleOptionSlider>
#include <QTabBar>
#include <QToolButton>
#include <algorithm>

namespace tokenloupe {

namespace {

int scaled(int px)
{
    return Theme::instance().scaled(px);
}

// No arrow buttons: groove over the whole length, pages before and after the slider.
QRect scrollBarPart(const QStyleOptionSlider &bar, QStyle::SubControl part)
{
    const bool horizontal = bar.orientation == Qt::Horizontal;
    const int length = horizontal ? bar.rect.width() : bar.rect.height();
    const int range = bar.maximum - bar.minimum;
    int size = length;
    if (range > 0) {
        const double share = static_cast<double>(bar.pageStep) / (static_cast<double>(range) + bar.pageStep);
        size = std::clamp(qRound(length * share), std::min(length, scaled(24)), length);
    }
    const int start = QStyle::sliderPositionFromValue(bar.minimum, bar.maximum, bar.sliderPosition,
                                                      length - size, bar.upsideDown);
    int from = 0;
    int to = 0;
    switch (part) {
    case QStyle::SC_ScrollBarGroove:
        to = length;
        break;
    case QStyle::SC_ScrollBarSlider:
        from = start;
        to = start + size;
        break;
    case QStyle::SC_ScrollBarSubPage:
        to = start;
        break;
    case QStyle::SC_ScrollBarAddPage:
        from = start + size;
        to = length;
        break;
    default:
        break;
    }
    const QRect along = horizontal ? QRect(from, 0, to - from, bar.rect.height())
                                   : QRect(0, from, bar.rect.width(), to - from);
    return QStyle::visualRect(bar.direction, bar.rect, along.translated(bar.rect.topLeft()));
}

} // namespace

AppStyle::AppStyle()
    : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion")))
{
    setObjectName(QStringLiteral("tokenloupe"));
}

int AppStyle::menuChevronRoom()
{
    return Theme::instance().scaled(18);
}

void AppStyle::polish(QWidget *widget)
{
    QProxyStyle::polish(widget);
    if (qobject_cast<QTabBar *>(widget) || qobject_cast<QComboBox *>(widget))
        widget->setAttribute(Qt::WA_Hover);
    if (auto *view = qobject_cast<QAbstractItemView *>(widget))
        view->viewport()->setAttribute(Qt::WA_Hover);
}

int AppStyle::pixelMetric(PixelMetric metric, const QStyleOption *option, const QWidget *widget) const
{
    switch (metric) {
    case PM_ScrollBarExtent:
        return scaled(10);
    case PM_ScrollBarSliderMin:
        return scaled(24);
    case PM_DockWidgetSeparatorExtent:
    case PM_SplitterWidth:
        return scaled(8);
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
    case PM_TabBarIconSize:
        return scaled(16);
    case PM_ToolBarIconSize:
        return scaled(16);
    case PM_ToolBarItemSpacing:
        return scaled(8);
    case PM_ToolBarItemMargin:
        return scaled(4);
    case PM_ToolBarSeparatorExtent:
        return scaled(12);
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
    case PM_TabBarTabShiftHorizontal:
    case PM_TabBarTabShiftVertical:
    case PM_TabBarBaseOverlap:
    case PM_TabBarTabOverlap:
    case PM_ScrollView_ScrollBarSpacing:
        return 0;
    case PM_TabBarTabHSpace:
        return scaled(24);
    case PM_TabBarTabVSpace:
        return scaled(14);
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
    case PM_ExclusiveIndicatorWidth:
    case PM_ExclusiveIndicatorHeight:
        return scaled(16);
    case PM_SliderThickness:
    case PM_SliderControlThickness:
    case PM_SliderLength:
        return scaled(16);
    case PM_MenuPanelWidth:
        return 1;
    case PM_MenuHMargin:
    case PM_MenuVMargin:
        return scaled(4);
    default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int AppStyle::styleHint(StyleHint hint, const QStyleOption *option, const QWidget *widget,
                        QStyleHintReturn *returnData) const
{
    switch (hint) {
    case SH_EtchDisabledText:
    case SH_DitherDisabledText:
    case SH_ComboBox_Popup:
    case SH_ItemView_ActivateItemOnSingleClick:
    case SH_TabBar_ElideMode:
        return 0;
    case SH_TabBar_Alignment:
        return Qt::AlignLeft;
    case SH_ToolTip_WakeUpDelay:
        return 350;
    case SH_Widget_Animation_Duration: // a hover or a scroll bar must not fade in: numbers are read at once
        return 0;
    default:
        return QProxyStyle::styleHint(hint, option, widget, returnData);
    }
}

QSize AppStyle::sizeFromContents(ContentsType type, const QStyleOption *option, const QSize &size,
                                 const QWidget *widget) const
{
    QSize result = QProxyStyle::sizeFromContents(type, option, size, widget);
    switch (type) {
    case CT_PushButton:
        return QSize(result.width() + scaled(8), std::max(result.height(), scaled(28)));
    case CT_LineEdit:
    case CT_SpinBox:
        return QSize(result.width(), std::max(result.height(), scaled(26)));
    case CT_ComboBox:
        return QSize(result.width() + scaled(10), std::max(result.height(), scaled(26)));
    case CT_ToolButton: {
        const auto *button = qobject_cast<const QToolButton *>(widget);
        const bool opensMenu = button && button->menu() && button->popupMode() == QToolButton::InstantPopup;
        return QSize(result.width() + scaled(4) + (opensMenu ? menuChevronRoom() : 0),
                     std::max(result.height(), scaled(26)));
    }
    case CT_MenuItem:
        if (const auto *item = qstyleoption_cast<const QStyleOptionMenuItem *>(option);
            item && item->menuItemType == QStyleOptionMenuItem::Separator)
            return QSize(result.width(), scaled(9));
        return QSize(result.width() + scaled(12), std::max(result.height(), scaled(26)));
    case CT_ItemViewItem:
        return QSize(result.width(), std::max(result.height(), scaled(24)));
    case CT_HeaderSection:
        return QSize(result.width(), std::max(result.height(), scaled(26)));
    default:
        return result;
    }
}

QRect AppStyle::subControlRect(ComplexControl control, const QStyleOptionComplex *option, SubControl part,
                               const QWidget *widget) const
{
    if (control == CC_ScrollBar)
        if (const auto *bar = qstyleoption_cast<const QStyleOptionSlider *>(option))
            return scrollBarPart(*bar, part);
    if (control == CC_ComboBox) {
        const int arrow = scaled(24);
        const QRect r = option->rect;
        if (part == SC_ComboBoxArrow)
            return visualRect(option->direction, r, QRect(r.right() - arrow + 1, r.top(), arrow, r.height()));
        if (part == SC_ComboBoxEditField)
            return visualRect(option->direction, r, r.adjusted(scaled(8), 2, -arrow, -2));
    }
    return QProxyStyle::subControlRect(control, option, part, widget);
}

QRect AppStyle::subElementRect(SubElement element, const QStyleOption *option, const QWidget *widget) const
{
    const QRect result = QProxyStyle::subElementRect(element, option, widget);
    if (element == SE_LineEditContents)
        if (const auto *frame = qstyleoption_cast<const QStyleOptionFrame *>(option);
            frame && frame->lineWidth > 0)
            return result.adjusted(scaled(4), 0, -scaled(4), 0);
    return result;
}

} // namespace tokenloupe
