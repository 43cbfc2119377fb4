// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "engine/tokenizer/tokenizer.h"
#include "widgets/views/kvcache/poolblocks.h"

#include <QWidget>
#include <memory>
#include <vector>

class QVBoxLayout;

namespace tokenloupe {

class BlockDetail;
class BlockMap;
class BlockMapLegend;
class SectionHeading;

/// Compact: the legend gives its place to what is in the block that is pointed at.
enum class PoolForm : std::uint8_t { Compact, Roomy };

/// The pools of a cache at a moment: a map of blocks for each, the legend of their marks, and what is in the
/// block that mouse or keyboard points at.
class PoolView : public QWidget
{
    Q_OBJECT

public:
    explicit PoolView(QWidget *parent = nullptr);
    ~PoolView() override;

    /// A null snapshot: nothing is known, no map is shown.
    void setSnapshot(std::shared_ptr<const CacheSnapshot> snapshot, const PoolFocus &focus);
    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer);
    void setForm(PoolForm form);
    int poolCount() const { return static_cast<int>(m_pools.size()); }
    BlockMap *map(int pool) const { return m_pools[std::size_t(pool)].map; }
    SectionHeading *heading(int pool) const { return m_pools[std::size_t(pool)].heading; }
    const BlockDetail *detail() const { return m_detail; }
    const BlockMapLegend *legend() const { return m_legend; }

Q_SIGNALS:
    void blockActivated(int pool, int block); ///< clicked, or Return

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    struct Pool
    {
        SectionHeading *heading = nullptr;
        BlockMap *map = nullptr;
    };
    void makePools(std::size_t count);
    void refreshHeading(std::size_t pool);
    void pointAt(int pool, int block);
    void showDetail();
    void layOutFooter();

    std::shared_ptr<const CacheSnapshot> m_snapshot;
    PoolFocus m_focus;
    std::vector<Pool> m_pools;
    QVBoxLayout *m_maps = nullptr;
    QWidget *m_footer = nullptr;
    BlockMapLegend *m_legend = nullptr;
    BlockDetail *m_detail = nullptr;
    PoolForm m_form = PoolForm::Roomy;
    int m_pool = -1; ///< pointed at
    int m_block = -1;
};

} // namespace tokenloupe
