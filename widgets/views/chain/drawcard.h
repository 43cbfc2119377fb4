// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/stagecard.h"

#include <QWidget>

namespace tokenloupe {

/// The draw at the foot of the chain: a stage card that cannot be moved or switched off.
class DrawCard : public QWidget
{
    Q_OBJECT

public:
    explicit DrawCard(QWidget *parent = nullptr);

    void setDraw(const QString &subtitle, const QString &survivors, const QString &probability);
    const StageCard &card() const { return m_card; }
    QSize sizeHint() const override { return StageCard::sizeHint(); }

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    StageCard m_card;
};

} // namespace tokenloupe
