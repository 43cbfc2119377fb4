// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QWidget>

class QGridLayout;
class QLabel;

namespace tokenloupe {

class EstimatePartsModel;
class GpuListModel;
class HowTable;

/// What follows from the verdict: how far one could go, what would run on the cards when not all of it fits,
/// how fast at most; the parts with their arithmetic; what each card gets; warnings.
class SummaryView : public QWidget
{
    Q_OBJECT

public:
    explicit SummaryView(QWidget *parent = nullptr);

    void setResult(const EstimatorResultPtr &result); ///< one that has an estimate

private:
    struct Fact
    {
        QLabel *name = nullptr;
        QLabel *value = nullptr;
        QLabel *how = nullptr;
    };
    Fact addFact(QGridLayout *grid, const QString &name);
    static void setFact(const Fact &fact, const QString &value, const QString &how);

    Fact m_context, m_batch, m_offload, m_perToken, m_decode, m_prefill;
    QLabel *m_warnings = nullptr;
    EstimatePartsModel *m_parts = nullptr;
    HowTable *m_partsTable = nullptr;
    QLabel *m_sharesTitle = nullptr;
    GpuListModel *m_shares = nullptr;
    HowTable *m_sharesTable = nullptr;
};

} // namespace tokenloupe
