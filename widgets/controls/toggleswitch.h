// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QStyle>

namespace tokenloupe {

/// Draws the switch that ToggleSwitch and item delegates share: on or off also by the knob's side, not by
/// colour alone. `rect` is centred on; its size does not matter.
enum class ToggleState { Off, On };
void paintToggle(QPainter &painter, const QRectF &rect, ToggleState state, const QStyle::State &flags);
QSize toggleSize();

/// A check box drawn as a switch: click, Space, and a check box to a screen reader.
class ToggleSwitch : public QAbstractButton
{
    Q_OBJECT

public:
    explicit ToggleSwitch(const QString &accessibleName, QWidget *parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent *event) override;
    bool event(QEvent *event) override;
};

} // namespace tokenloupe
