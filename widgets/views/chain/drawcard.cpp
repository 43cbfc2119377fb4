// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chain/drawcard.h"

#include "widgets/theme/theme.h"

#include <QPainter>

namespace tokenloupe {

DrawCard::DrawCard(QWidget *parent)
    : QWidget(parent)
{
    m_card.title = tr("Draw");
    m_card.family = StageFamily::Draw;
    m_card.movable = false;
    setFixedHeight(StageCard::sizeHint().height());
    setAccessibleName(m_card.title);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void DrawCard::setDraw(const QString &subtitle, const QString &survivors, const QString &probability)
{
    m_card.subtitle = subtitle;
    m_card.survivors = survivors;
    m_card.mass = probability;
    setAccessibleDescription(subtitle);
    update();
}

void DrawCard::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    m_card.paint(painter, rect(), QStyle::State_Enabled);
}

} // namespace tokenloupe
