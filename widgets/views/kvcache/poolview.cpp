// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/poolview.h"

#include "widgets/controls/blockmap.h"
#include "widgets/controls/blockmaplegend.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/blockdetail.h"
#include "widgets/views/kvcache/sectionheading.h"

#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

PoolView::PoolView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(theme.scaled(2));
    m_maps = new QVBoxLayout;
    m_maps->setSpacing(theme.scaled(2));
    column->addLayout(m_maps, 1);
    m_footer = new QWidget;
    auto *footer = new QVBoxLayout(m_footer);
    footer->setContentsMargins(0, theme.scaled(2), 0, 0);
    footer->setSpacing(theme.scaled(4));
    m_legend = new BlockMapLegend;
    m_detail = new BlockDetail;
    footer->addWidget(m_legend);
    footer->addWidget(m_detail);
    footer->addStretch(1);
    column->addWidget(m_footer);
    showDetail();
}

// A map that loses the focus while this is taken down would still tell.
PoolView::~PoolView()
{
    for (const Pool &pool : m_pools)
        pool.map->disconnect(this);
}

void PoolView::makePools(std::size_t count)
{
    if (count == m_pools.size())
        return;
    for (const Pool &pool : m_pools) {
        pool.map->disconnect(this);
        delete pool.heading;
        delete pool.map;
    }
    m_pools.clear();
    m_pool = m_block = -1;
    for (std::size_t i = 0; i < count; ++i) {
        Pool pool;
        pool.heading = new SectionHeading({});
        pool.map = new BlockMap;
        m_maps->addWidget(pool.heading);
        m_maps->addWidget(pool.map, 1);
        const int index = static_cast<int>(i);
        connect(pool.map, &BlockMap::hovered, this, [this, index](int block) { pointAt(index, block); });
        connect(pool.map, &BlockMap::clicked, this,
                [this, index](int block) { Q_EMIT blockActivated(index, block); });
        connect(pool.map, &BlockMap::squareBlocksChanged, this, [this, i] { refreshHeading(i); });
        pool.map->setBlockText([this, i](int block) {
            return m_snapshot && i < m_snapshot->pools.size() &&
                           std::size_t(block) < m_snapshot->pools[i].blocks.size()
                       ? blockText(*m_snapshot, i, std::size_t(block))
                       : QString();
        });
        m_pools.push_back(pool);
    }
}

void PoolView::setSnapshot(std::shared_ptr<const CacheSnapshot> snapshot, const PoolFocus &focus)
{
    m_snapshot = std::move(snapshot);
    m_focus = focus;
    makePools(m_snapshot ? m_snapshot->pools.size() : 0);
    std::vector<BlockMark> marks;
    for (std::size_t i = 0; i < m_pools.size(); ++i) {
        std::vector<Block> blocks = poolBlocks(*m_snapshot, i, m_focus);
        for (const BlockMark mark : marksIn(blocks))
            if (std::find(marks.begin(), marks.end(), mark) == marks.end())
                marks.push_back(mark);
        m_pools[i].map->setBlocks(std::move(blocks));
        refreshHeading(i);
    }
    std::sort(marks.begin(), marks.end());
    m_legend->setMarks(std::move(marks));
    showDetail();
}

void PoolView::setTokenizer(std::shared_ptr<const Tokenizer> tokenizer)
{
    m_detail->setTokenizer(std::move(tokenizer));
}

void PoolView::setForm(PoolForm form)
{
    if (form == m_form)
        return;
    m_form = form;
    showDetail();
}

void PoolView::refreshHeading(std::size_t pool)
{
    if (!m_snapshot || pool >= m_snapshot->pools.size())
        return;
    const Pool &shown = m_pools[pool];
    shown.heading->setTitle(poolTitle(*m_snapshot, pool));
    QString summary = poolSummary(*m_snapshot, pool);
    if (shown.map->squareBlocks() > 1)
        summary += tr(" · %1 blocks a square").arg(shown.map->squareBlocks());
    shown.heading->setSummary(summary);
    shown.map->setAccessibleName(poolTitle(*m_snapshot, pool) + QStringLiteral(": ") + summary);
}

void PoolView::pointAt(int pool, int block)
{
    if (block < 0 && pool != m_pool)
        return; // another map lost the pointer that this one has now
    m_pool = block < 0 ? -1 : pool;
    m_block = block;
    showDetail();
}

void PoolView::showDetail()
{
    const bool known = m_snapshot && m_pool >= 0 && std::size_t(m_pool) < m_snapshot->pools.size() &&
                       std::size_t(m_block) < m_snapshot->pools[std::size_t(m_pool)].blocks.size();
    if (known) {
        const CacheBlock &block = m_snapshot->pools[std::size_t(m_pool)].blocks[std::size_t(m_block)];
        m_detail->showBlock(blockText(*m_snapshot, std::size_t(m_pool), std::size_t(m_block)), block.tokens,
                            block.firstPosition);
    } else {
        m_detail->showHint(m_snapshot
                               ? tr("Point at a block to see its tokens; a click selects its first step.")
                               : tr("The blocks are shown while a model is open."));
    }
    m_detail->setVisible(m_form == PoolForm::Roomy || known || !m_snapshot);
    m_legend->setVisible(m_form == PoolForm::Roomy || !known);
    layOutFooter();
}

// As high as the higher of the two that take turns: the maps must not move under the pointer.
void PoolView::layOutFooter()
{
    const int top = m_footer->layout()->contentsMargins().top();
    const int legend = m_legend->heightForWidth(width());
    const int detail = m_detail->sizeHint().height();
    const int height = m_form == PoolForm::Compact ? std::max(legend, detail)
                                                   : legend + detail + m_footer->layout()->spacing();
    m_legend->setFixedHeight(legend);
    m_footer->setFixedHeight(top + height);
    // never higher than with the maps at their largest: what is beside gets the rest
    int most = m_footer->height() + layout()->spacing();
    for (const Pool &pool : m_pools)
        most += pool.heading->sizeHint().height() + pool.map->largestHeight(width()) + 2 * m_maps->spacing();
    setMaximumHeight(most);
}

void PoolView::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    layOutFooter();
}

} // namespace tokenloupe
