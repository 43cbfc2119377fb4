// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QWidget>

class QLabel;

namespace tokenloupe {

class CapacityPlot;
class ElidedLabel;

/// Memory over the context and over the batch, against what there is.
class CurvesView : public QWidget
{
    Q_OBJECT

public:
    explicit CurvesView(QWidget *parent = nullptr);

    void setResult(const EstimatorResultPtr &result); ///< one that has an estimate

Q_SIGNALS:
    void contextPicked(quint64 tokens); ///< a click in the curve
    void batchPicked(quint64 sequences);

private:
    CapacityPlot *m_context = nullptr;
    CapacityPlot *m_batch = nullptr;
    ElidedLabel *m_contextNote = nullptr;
    ElidedLabel *m_batchNote = nullptr;
};

} // namespace tokenloupe
