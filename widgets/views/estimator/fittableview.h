// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QWidget>

class QLabel;

namespace tokenloupe {

class CellTable;
class FitTableModel;

/// Weight types by contexts: what fits. A click, Enter or Space on a cell takes its type and context over.
class FitTableView : public QWidget
{
    Q_OBJECT

public:
    explicit FitTableView(QWidget *parent = nullptr);

    void setResult(const EstimatorResultPtr &result); ///< one that has an estimate

Q_SIGNALS:
    void picked(const QString &weightType, quint64 contextTokens);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void pick(const QModelIndex &index);

    QLabel *m_note = nullptr;
    CellTable *m_table = nullptr;
    FitTableModel *m_model = nullptr;
};

} // namespace tokenloupe
