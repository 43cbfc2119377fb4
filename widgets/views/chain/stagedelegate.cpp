// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chain/stagedelegate.h"

#include "widgets/models/samplermodel.h"
#include "widgets/theme/numbers.h"

#include <QKeyEvent>
#include <QMouseEvent>

namespace tokenloupe {

StageCard StageDelegate::card(const QModelIndex &index) const
{
    const auto kind = static_cast<StageKind>(index.data(SamplerModel::KindRole).toInt());
    StageCard card;
    card.title = index.data().toString();
    card.subtitle = index.data(SamplerModel::SummaryRole).toString();
    card.family = stageFamily(kind);
    card.toggle =
        index.data(SamplerModel::EnabledRole).toBool() ? StageCard::Switch::On : StageCard::Switch::Off;
    card.active = index.data(SamplerModel::ActiveRole).toBool();
    if (!m_explanation)
        return card;
    // Inactive stages pass on what the active ones before them left.
    std::uint32_t alive = static_cast<std::uint32_t>(m_explanation->rawByRank.size());
    std::size_t next = 0;
    const auto &stages = m_explanation->settings->stages;
    for (const StageSettings &stage : stages) {
        const bool isActive =
            next < m_explanation->stages.size() && m_explanation->stages[next].settings == stage;
        double mass = 1.0;
        if (isActive) {
            alive = m_explanation->stages[next].candidates;
            mass = m_explanation->stages[next].mass;
            ++next;
        }
        if (stage.kind() == kind) {
            card.survivors = formatCount(alive);
            if (isActive && mass < 0.99995)
                card.mass = QString(formatPercent(mass) + QStringLiteral(" %"));
            break;
        }
    }
    return card;
}

void StageDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                          const QModelIndex &index) const
{
    card(index).paint(*painter, option.rect, option.state);
}

QSize StageDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const
{
    return StageCard::sizeHint();
}

bool StageDelegate::editorEvent(QEvent *event, QAbstractItemModel *model, const QStyleOptionViewItem &option,
                                const QModelIndex &index)
{
    bool toggles = false;
    if (event->type() == QEvent::MouseButtonRelease) {
        const auto *mouse = static_cast<QMouseEvent *>(event);
        toggles = mouse->button() == Qt::LeftButton &&
                  StageCard::toggleRect(option.rect).contains(mouse->position().toPoint());
    } else if (event->type() == QEvent::KeyPress) {
        toggles = static_cast<QKeyEvent *>(event)->key() == Qt::Key_Space;
    }
    if (!toggles)
        return false;
    return model->setData(index, !index.data(SamplerModel::EnabledRole).toBool(), SamplerModel::EnabledRole);
}

} // namespace tokenloupe
