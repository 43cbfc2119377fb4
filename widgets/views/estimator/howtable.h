// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QAbstractTableModel;
class QLabel;
class QModelIndex;

namespace tokenloupe {

class CellTable;

/// A short table, as high as its rows, and below it the arithmetic behind the selected one.
class HowTable : public QWidget
{
    Q_OBJECT

public:
    /// `howRole`: the model's role that holds the text. The first column takes what the others leave.
    HowTable(const QString &accessibleName, QAbstractTableModel *model, int howRole,
             QWidget *parent = nullptr);

    CellTable *table() const { return m_table; }
    QString shownText() const;

private:
    void fitRows();
    void showHow();

    QAbstractTableModel *m_model = nullptr;
    int m_howRole = 0;
    CellTable *m_table = nullptr;
    QLabel *m_how = nullptr;
};

} // namespace tokenloupe
