// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace tokenloupe {

/// One line of plain text. Where there is no room for all of it, parts that are joined by " · " are left out
/// from the end; a single part is cut with "…". The whole text is in the tooltip then. Digits are equally
/// wide, so that a number that changes does not move its neighbours.
class ElidedLabel : public QLabel
{
    Q_OBJECT

public:
    explicit ElidedLabel(QWidget *parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    QString shownText() const;
};

} // namespace tokenloupe
