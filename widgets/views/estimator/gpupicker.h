// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QToolButton;

namespace tokenloupe {

class CellTable;
class EstimatorModel;
class GpuEditor;
class GpuListModel;
class SearchCombo;

/// What the model is to run on: this machine, or cards of the catalogue, several at once. Enter or a double
/// click edits a card's numbers into one of the user's own, Delete takes it out.
class GpuPicker : public QWidget
{
    Q_OBJECT

public:
    explicit GpuPicker(EstimatorModel &model, QWidget *parent = nullptr);

Q_SIGNALS:
    void failed(const QString &what, const QString &why, const QString &advice);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void fillCatalogue();
    void refresh();
    void editCurrent();
    void removeCurrent();

    EstimatorModel &m_model;
    GpuListModel *m_gpus = nullptr;
    CellTable *m_table = nullptr;
    SearchCombo *m_add = nullptr;
    QToolButton *m_edit = nullptr;
    QToolButton *m_remove = nullptr;
    GpuEditor *m_editor = nullptr;
    int m_edited = -1; ///< row
};

} // namespace tokenloupe
