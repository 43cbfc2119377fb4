// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProxyStyle>

namespace tokenloupe {

/// Fusion with what its palette cannot say: rounded controls, thin scroll bars, tab bars with an underline in
/// the accent colour, flat headers and menus, a focus ring in the accent colour. Reads the theme when it
/// paints. Buttons: a checked or default button is filled with the accent; a flat or auto-raise one shows its
/// ground only under the mouse.
class AppStyle : public QProxyStyle
{
    Q_OBJECT

public:
    AppStyle();

    static constexpr int panelRadius = 8;
    static constexpr int controlRadius = 6;
    static constexpr int chipRadius = 4;

    static int menuChevronRoom(); ///< at the right end of a button that opens a menu

    void polish(QWidget *widget) override;
    using QProxyStyle::polish;
    int pixelMetric(PixelMetric metric, const QStyleOption *option, const QWidget *widget) const override;
    int styleHint(StyleHint hint, const QStyleOption *option, const QWidget *widget,
                  QStyleHintReturn *returnData) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption *option, const QSize &size,
                           const QWidget *widget) const override;
    QRect subControlRect(ComplexControl control, const QStyleOptionComplex *option, SubControl part,
                         const QWidget *widget) const override;
    QRect subElementRect(SubElement element, const QStyleOption *option,
                         const QWidget *widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption *option, QPainter *painter,
                       const QWidget *widget) const override;
    void drawControl(ControlElement element, const QStyleOption *option, QPainter *painter,
                     const QWidget *widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex *option, QPainter *painter,
                            const QWidget *widget) const override;
};

/// Rounded rectangle of pen width 1 that stays inside `rect`; transparent colours are left out.
void drawRounded(QPainter &painter, const QRectF &rect, double radius, const QColor &fill,
                 const QColor &border);
/// Ring of two pixels in the accent colour, inside `rect`.
void drawFocusRing(QPainter &painter, const QRectF &rect, double radius);

} // namespace tokenloupe
