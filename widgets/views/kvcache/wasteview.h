// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "widgets/views/kvcache/cachewaste.h"

#include <QWidget>
#include <memory>

namespace tokenloupe {

class CacheWasteModel;
class CellTable;
class LabelledBars;
class SectionHeading;
class StackedBar;

/// Where the bytes of the pool are, what paging spares against reserving in one piece, and what the cache
/// did so far.
class WasteView : public QWidget
{
    Q_OBJECT

public:
    explicit WasteView(QWidget *parent = nullptr);

    void setSnapshot(const std::shared_ptr<const CacheSnapshot> &snapshot, const ReservedTokens &reserved);
    const CacheWasteModel *model() const { return m_model; }
    const LabelledBars *comparison() const { return m_comparison; }

protected:
    void resizeEvent(QResizeEvent *event) override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void showPool(const CacheSnapshot &snapshot);
    void showComparison(const CacheSnapshot &snapshot, const ReservedTokens &reserved);
    void layOutColumns();

    SectionHeading *m_heading = nullptr;
    StackedBar *m_pool = nullptr;
    SectionHeading *m_comparisonHeading = nullptr;
    LabelledBars *m_comparison = nullptr;
    CacheWasteModel *m_model = nullptr;
    CellTable *m_table = nullptr;
};

} // namespace tokenloupe
