// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

namespace tokenloupe {

/// A bar with its name and number.
struct LabelledBar
{
    QString name;
    double value = 0.0;
    QString valueText; ///< "22.5 KiB · ×0.33"
    QString tooltip;
    bool own = false; ///< the one that the program really uses
    bool operator==(const LabelledBar &) const = default;
};

/// Quantities to compare, one below the other: name, bar, number. One's own is marked with a dot, a bold name
/// and the accent colour. Up and Down walk the rows and say what hovering tells.
class LabelledBars : public QWidget
{
    Q_OBJECT

public:
    explicit LabelledBars(const QString &accessibleName, QWidget *parent = nullptr);

    void setBars(std::vector<LabelledBar> bars);
    const std::vector<LabelledBar> &bars() const { return m_bars; }
    int barAt(const QPoint &pos) const; ///< -1: none
    QRectF barRect(int index) const;    ///< of the coloured part

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;

private:
    int rowHeight() const;
    double nameWidth() const;
    double valueWidth() const;
    QString textOf(int index) const;
    void setCurrent(int index);

    std::vector<LabelledBar> m_bars;
    int m_current = -1; ///< the keyboard's
};

} // namespace tokenloupe
