// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QBoxLayout;
class QScrollArea;
class QStackedWidget;

namespace tokenloupe {

class GrowthView;
class LayersView;
class PoolView;
class SegmentTabs;
class WasteView;
class WithoutCacheView;

/// Small: everything in tabs, curve and blocks in the first. Tall: curve and blocks above, the other tabs
/// below. Wide: side by side.
enum class CacheForm : std::uint8_t { Small, Tall, Wide };

/// The parts of the cache panel, arranged by the room that there is. A part that has too little room scrolls.
class CacheSections : public QWidget
{
    Q_OBJECT

public:
    explicit CacheSections(QWidget *parent = nullptr);

    GrowthView *growth() const { return m_growth; }
    PoolView *pool() const { return m_pool; }
    WasteView *waste() const { return m_waste; }
    WithoutCacheView *withoutCache() const { return m_withoutCache; }
    LayersView *layers() const { return m_layers; }
    SegmentTabs *tabs() const { return m_tabs; }
    CacheForm form() const { return m_form; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    void arrange(CacheForm form);

    GrowthView *m_growth = nullptr;
    PoolView *m_pool = nullptr;
    WasteView *m_waste = nullptr;
    WithoutCacheView *m_withoutCache = nullptr;
    LayersView *m_layers = nullptr;
    QBoxLayout *m_outer = nullptr;
    QScrollArea *m_main = nullptr; ///< curve and blocks
    SegmentTabs *m_tabs = nullptr;
    QStackedWidget *m_stack = nullptr;
    CacheForm m_form = CacheForm::Tall;
};

} // namespace tokenloupe
