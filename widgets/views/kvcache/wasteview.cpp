// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/wasteview.h"

#include "widgets/controls/celltable.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/cachewastemodel.h"
#include "widgets/views/kvcache/labelledbars.h"
#include "widgets/views/kvcache/sectionheading.h"

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

/// Numbers in tabular figures, right-aligned; the share's reference muted.
class WasteDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        const Theme &theme = Theme::instance();
        const ThemeColors &c = theme.colors();
        painter->save();
        if (option.state & QStyle::State_Selected)
            painter->fillRect(option.rect, c.softAccent);
        const bool number =
            index.column() == CacheWasteModel::AmountColumn || index.column() == CacheWasteModel::ShareColumn;
        const QRect room = option.rect.adjusted(number ? 0 : theme.scaled(2), 0, -theme.scaled(4), 0);
        const QString text = index.data().toString();
        painter->setFont(theme.font(TextRole::Small));
        painter->setPen(index.column() == CacheWasteModel::WholeColumn ? c.mutedOnTint : c.text);
        if (number)
            drawTabular(*painter, room, Qt::AlignRight | Qt::AlignVCenter, text);
        else
            painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                              painter->fontMetrics().elidedText(text, Qt::ElideRight, room.width()));
        painter->restore();
    }
};

// bytes and their share of the pool
BarSegment segmentOf(const QString &name, std::uint64_t bytes, std::uint64_t pool, int color)
{
    const double share = pool > 0 ? static_cast<double>(bytes) / static_cast<double>(pool) : 0.0;
    return {name, static_cast<double>(bytes), formatBytes(bytes),
            WasteView::tr("%1: %2, %3 % of the pool").arg(name, formatBytes(bytes), formatPercent(share)),
            color};
}

} // namespace

WasteView::WasteView(QWidget *parent)
    : QWidget(parent)
{
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(Theme::instance().scaled(4));
    m_heading = new SectionHeading(tr("Pool"));
    m_pool = new StackedBar(StackedBar::Legend::Shown);
    m_pool->setAccessibleName(tr("Bytes of the pool"));
    m_comparisonHeading = new SectionHeading(tr("Paged or in one piece"));
    m_comparison = new LabelledBars(tr("Blocks against one contiguous stretch"));
    m_model = new CacheWasteModel(this);
    m_table = new CellTable(tr("What the cache holds and did"));
    m_table->setModel(m_model);
    m_table->setItemDelegate(new WasteDelegate(m_table));
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // the page scrolls
    m_table->viewport()->installEventFilter(this);
    column->addWidget(m_heading);
    column->addWidget(m_pool);
    column->addWidget(m_comparisonHeading);
    column->addWidget(m_comparison);
    column->addWidget(m_table);
    column->addStretch(1);
    connect(&Theme::instance(), &Theme::changed, m_table->viewport(), qOverload<>(&QWidget::update));
}

void WasteView::setSnapshot(const std::shared_ptr<const CacheSnapshot> &snapshot,
                            const ReservedTokens &reserved)
{
    if (!snapshot) {
        m_model->setRows({});
        m_pool->setSegments({});
        m_comparison->setBars({});
        m_comparisonHeading->setSummary({});
        m_heading->setSummary(tr("known while a model is open"));
        return;
    }
    showPool(*snapshot);
    showComparison(*snapshot, reserved);
    m_model->setRows(wasteRows(*snapshot, reserved));
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() +
                            m_model->rowCount() * m_table->verticalHeader()->defaultSectionSize() + 2);
    layOutColumns();
}

void WasteView::showPool(const CacheSnapshot &snapshot)
{
    const std::uint64_t pool = snapshot.poolBytes();
    const std::uint64_t used = snapshot.usedBytes();
    const std::uint64_t unfilled = std::min(snapshot.unfilledBytes(), used);
    const std::uint64_t kept = snapshot.cachedBytes();
    m_pool->setSegments({segmentOf(tr("tokens"), used - unfilled, pool, 0),
                         segmentOf(tr("unfilled"), unfilled, pool, 2), segmentOf(tr("kept"), kept, pool, 4)});
    m_pool->setFullScale(static_cast<double>(pool));
    m_heading->setSummary(
        tr("%1 · %2 free").arg(formatBytes(pool), formatBytes(pool - std::min(pool, used + kept))));
}

void WasteView::showComparison(const CacheSnapshot &snapshot, const ReservedTokens &reserved)
{
    const std::uint64_t used = snapshot.usedBytes();
    const std::uint64_t sequences = std::max<std::size_t>(1, snapshot.sequences.size());
    std::vector<LabelledBar> bars;
    bars.push_back({tr("blocks, as here"), static_cast<double>(used), formatBytes(used),
                    tr("Blocks are taken as tokens come in."), true});
    const auto reserve = [&](const QString &name, std::uint64_t tokens, const QString &why) {
        const std::uint64_t bytes = contiguousBytes(snapshot.shape, tokens) * sequences;
        bars.push_back({name, static_cast<double>(bytes), formatBytes(bytes), why, false});
        return bytes;
    };
    if (reserved.most > 0)
        reserve(
            tr("prompt + reply"),
            std::min<std::uint64_t>(std::uint64_t(reserved.prompt) + reserved.most, snapshot.contextTokens),
            tr("One stretch for the prompt and the longest reply, for every open sequence."));
    const std::uint64_t whole = reserve(tr("whole context"), snapshot.contextTokens,
                                        tr("One stretch for the whole context, for every open sequence."));
    m_comparison->setBars(std::move(bars));
    m_comparisonHeading->setSummary(
        whole > 0 ? tr("%1 % of the whole context")
                        .arg(formatPercent(static_cast<double>(used) / static_cast<double>(whole)))
                  : QString());
}

void WasteView::layOutColumns()
{
    const Theme &theme = Theme::instance();
    const QFont font = theme.font(TextRole::Small);
    double amount = theme.scaled(48);
    double whole = 0.0;
    double names = theme.scaled(80);
    for (const WasteRow &row : m_model->rows()) {
        amount = std::max(amount, tabularWidth(font, row.amount));
        names = std::max(names, QFontMetricsF(font).horizontalAdvance(row.name));
        whole = std::max(whole, QFontMetricsF(font).horizontalAdvance(row.whole));
    }
    const int room = m_table->viewport()->width();
    const int amountWidth = static_cast<int>(amount) + theme.scaled(12);
    const int shareWidth = theme.scaled(44);
    const int wholeWidth = static_cast<int>(whole) + theme.scaled(8);
    const int name = static_cast<int>(names) + theme.scaled(8);
    const bool all = room >= name + amountWidth + shareWidth + wholeWidth;
    m_table->setColumnHidden(CacheWasteModel::WholeColumn, !all);
    m_table->setColumnWidth(
        CacheWasteModel::NameColumn,
        std::max(theme.scaled(80), room - amountWidth - shareWidth - (all ? wholeWidth : 0)));
    m_table->setColumnWidth(CacheWasteModel::AmountColumn, amountWidth);
    m_table->setColumnWidth(CacheWasteModel::ShareColumn, shareWidth);
    m_table->setColumnWidth(CacheWasteModel::WholeColumn, wholeWidth);
}

bool WasteView::eventFilter(QObject *watched, QEvent *event)
{
    // The viewport, not the view: a scroll bar that comes or goes changes the room too.
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        layOutColumns();
    return QWidget::eventFilter(watched, event);
}

void WasteView::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    layOutColumns();
}

} // namespace tokenloupe
