// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractListModel>
#include <QFrame>
#include <QPointer>
#include <vector>

class QAction;
class QLineEdit;
class QListView;
class QSortFilterProxyModel;

namespace tokenloupe {

/// Every action and setting by name: "View: KV cache", "Theme: dark", … Rows are actions that are enabled
/// now.
class ActionListModel : public QAbstractListModel
{
    Q_OBJECT

public:
    enum Role { ShortcutRole = Qt::UserRole };
    using QAbstractListModel::QAbstractListModel;

    void setActions(const std::vector<QAction *> &actions);
    QAction *action(int row) const;

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;

private:
    std::vector<QPointer<QAction>> m_actions;
};

/// Popup over the window's top middle: type to filter (words in any order), Up/Down, Enter, Escape.
class CommandPalette : public QFrame
{
    Q_OBJECT

public:
    explicit CommandPalette(QWidget *window);

    void open(const std::vector<QAction *> &actions);

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    void filter(const QString &text);
    void trigger();

    QLineEdit *m_input = nullptr;
    QListView *m_list = nullptr;
    ActionListModel *m_model = nullptr;
    QSortFilterProxyModel *m_filtered = nullptr;
};

} // namespace tokenloupe
