// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <cstdint>
#include <vector>

namespace tokenloupe {

/// A part of a whole.
struct BarSegment
{
    QString name;
    double value = 0.0;
    QString valueText; ///< "92.1"
    QString tooltip;   ///< where the number comes from
    int color = 0; ///< index into segmentColor(); a colour of the theme, so that a switch needs no rebuild
};

/// One horizontal bar of parts, and below it, when asked for, a grid with every part's colour, name and
/// value. Several bars that are to be compared share one full scale.
class StackedBar : public QWidget
{
    Q_OBJECT

public:
    enum class Legend { Hidden, Shown };

    explicit StackedBar(Legend legend, QWidget *parent = nullptr);

    void setSegments(std::vector<BarSegment> segments);
    const std::vector<BarSegment> &segments() const { return m_segments; }
    /// Value at the right end; below the sum: the sum.
    void setFullScale(double value);
    /// A thin line across the bar at `value` with its own tooltip (what was measured); negative: none.
    void setMarker(double value, const QString &tooltip);
    int segmentAt(const QPoint &pos) const; ///< in the bar or in the legend; -1: none

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return m_legend == Legend::Shown; }
    int heightForWidth(int width) const override;

    static QColor segmentColor(int index);

Q_SIGNALS:
    void hovered(int segment); ///< -1: left

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;

private:
    double sum() const;
    double fullScale() const;
    int barHeight() const;
    int columns(int width) const;
    QRectF barRect() const;
    QRectF segmentRect(int index) const;
    QRectF legendRect(int index) const;
    void setHovered(int index);

    std::vector<BarSegment> m_segments;
    double m_fullScale = 0.0;
    double m_marker = -1.0;
    QString m_markerTip;
    Legend m_legend;
    int m_hovered = -1;
};

} // namespace tokenloupe
