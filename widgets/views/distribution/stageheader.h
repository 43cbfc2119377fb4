// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHeaderView>

namespace tokenloupe {

/// Header whose stage sections are written in the stage's colour; the others muted. No lines.
class StageHeader : public QHeaderView
{
    Q_OBJECT

public:
    explicit StageHeader(QWidget *parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintSection(QPainter *painter, const QRect &rect, int section) const override;
};

} // namespace tokenloupe
