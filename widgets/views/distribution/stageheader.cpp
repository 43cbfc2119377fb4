// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/distribution/stageheader.h"

#include "widgets/models/candidatemodel.h"
#include "widgets/theme/theme.h"

#include <QPainter>

namespace tokenloupe {

StageHeader::StageHeader(QWidget *parent)
    : QHeaderView(Qt::Horizontal, parent)
{
    setHighlightSections(false);
    setFrameShape(NoFrame);
    setSectionsClickable(false);
    setMinimumSectionSize(Theme::instance().scaled(24));
}

QSize StageHeader::sizeHint() const
{
    return {QHeaderView::sizeHint().width(), Theme::instance().scaled(22)};
}

void StageHeader::paintSection(QPainter *painter, const QRect &rect, int section) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &colors = theme.colors();
    painter->save();
    painter->fillRect(rect, colors.panel);
    QFont font = theme.font(TextRole::Small);
    painter->setPen(colors.muted);
    if (section >= CandidateModel::FirstStageColumn) {
        const int family = model()->headerData(section, Qt::Horizontal, CandidateModel::FamilyRole).toInt();
        painter->setPen(colors.stageText(static_cast<StageFamily>(family)));
        font.setWeight(QFont::DemiBold);
    }
    painter->setFont(font);
    const int alignment = model()->headerData(section, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
    const QRect text = rect.adjusted(0, 0, -theme.scaled(6), 0);
    const QString label = model()->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
    painter->drawText(text, alignment,
                      painter->fontMetrics().elidedText(label, Qt::ElideRight, text.width()));
    painter->restore();
}

} // namespace tokenloupe
