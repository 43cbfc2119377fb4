// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/commandpalette.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

/// Keeps the rows that hold every typed word, whatever their order.
class WordFilter : public QSortFilterProxyModel
{
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    void setWords(const QStringList &words)
    {
        m_words = words;
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex &parent) const override
    {
        const QString text = sourceModel()->index(row, 0, parent).data().toString();
        return std::all_of(m_words.begin(), m_words.end(),
                           [&](const QString &word) { return text.contains(word, Qt::CaseInsensitive); });
    }

private:
    QStringList m_words;
};

/// Name on the left, shortcut muted on the right.
class ActionDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        const ThemeColors &colors = Theme::instance().colors();
        const Theme &theme = Theme::instance();
        painter->save();
        if (option.state & QStyle::State_Selected)
            drawRounded(*painter, option.rect.adjusted(4, 0, -4, 0), AppStyle::controlRadius,
                        colors.softAccent, Qt::transparent);
        const QRect text = option.rect.adjusted(theme.scaled(14), 0, -theme.scaled(14), 0);
        painter->setFont(theme.font(TextRole::Body));
        painter->setPen(colors.text);
        painter->drawText(text, Qt::AlignVCenter | Qt::AlignLeft, index.data().toString());
        painter->setPen(colors.muted);
        painter->drawText(text, Qt::AlignVCenter | Qt::AlignRight,
                          index.data(ActionListModel::ShortcutRole).toString());
        painter->restore();
    }

    QSize sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const override
    {
        return {100, Theme::instance().scaled(28)};
    }
};

} // namespace

void ActionListModel::setActions(const std::vector<QAction *> &actions)
{
    beginResetModel();
    m_actions.clear();
    for (QAction *action : actions) {
        if (action->isEnabled() && !action->text().isEmpty())
            m_actions.emplace_back(action);
    }
    endResetModel();
}

QAction *ActionListModel::action(int row) const
{
    return m_actions[static_cast<std::size_t>(row)];
}

int ActionListModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_actions.size());
}

QVariant ActionListModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const QAction *action = m_actions[static_cast<std::size_t>(index.row())];
    if (!action)
        return {};
    if (role == Qt::DisplayRole) {
        QString text = action->data().toString().isEmpty() ? action->text() : action->data().toString();
        text.remove(QLatin1Char('&'));
        return action->isChecked() ? QString(text + QStringLiteral("  ✓")) : text;
    }
    if (role == ShortcutRole)
        return action->shortcut().toString(QKeySequence::NativeText);
    return {};
}

CommandPalette::CommandPalette(QWidget *window)
    : QFrame(window)
{
    const Theme &theme = Theme::instance();
    setAccessibleName(tr("Command palette"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    m_input = new QLineEdit(this);
    m_input->setPlaceholderText(tr("Type an action or a setting…"));
    m_input->setAccessibleName(tr("Find an action"));
    m_input->installEventFilter(this);
    layout->addWidget(m_input);
    m_list = new QListView(this);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setUniformItemSizes(true);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setAccessibleName(tr("Actions"));
    layout->addWidget(m_list);
    m_model = new ActionListModel(this);
    m_filtered = new WordFilter(this);
    m_filtered->setSourceModel(m_model);
    m_list->setModel(m_filtered);
    m_list->setItemDelegate(new ActionDelegate(m_list));
    connect(m_input, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListView::clicked, this, [this](const QModelIndex &index) {
        m_list->setCurrentIndex(index);
        trigger();
    });
    resize(theme.scaled(560), theme.scaled(420));
    hide();
}

void CommandPalette::open(const std::vector<QAction *> &actions)
{
    m_model->setActions(actions);
    m_input->clear();
    filter({});
    const int top = Theme::instance().scaled(56);
    resize(std::min(Theme::instance().scaled(560), parentWidget()->width() - 32),
           std::min(Theme::instance().scaled(420), parentWidget()->height() - top - 32));
    move((parentWidget()->width() - width()) / 2, top);
    show();
    raise();
    m_input->setFocus();
}

void CommandPalette::filter(const QString &text)
{
    static_cast<WordFilter *>(m_filtered)->setWords(text.split(QLatin1Char(' '), Qt::SkipEmptyParts));
    m_list->setCurrentIndex(m_filtered->index(0, 0));
}

void CommandPalette::trigger()
{
    const QModelIndex current = m_list->currentIndex();
    if (!current.isValid())
        return;
    QAction *action = m_model->action(m_filtered->mapToSource(current).row());
    hide();
    parentWidget()->setFocus();
    if (action)
        action->trigger();
}

bool CommandPalette::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() == QEvent::FocusOut && watched == m_input) {
        hide();
        return false;
    }
    if (event->type() != QEvent::KeyPress)
        return QFrame::eventFilter(watched, event);
    const int rows = m_filtered->rowCount();
    const int row = m_list->currentIndex().row();
    switch (static_cast<QKeyEvent *>(event)->key()) {
    case Qt::Key_Escape:
        hide();
        parentWidget()->setFocus();
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        trigger();
        return true;
    case Qt::Key_Down:
        m_list->setCurrentIndex(m_filtered->index(std::min(row + 1, rows - 1), 0));
        return true;
    case Qt::Key_Up:
        m_list->setCurrentIndex(m_filtered->index(std::max(row - 1, 0), 0));
        return true;
    default:
        return QFrame::eventFilter(watched, event);
    }
}

void CommandPalette::paintEvent(QPaintEvent *)
{
    const ThemeColors &colors = Theme::instance().colors();
    QPainter painter(this);
    drawRounded(painter, rect(), AppStyle::panelRadius, colors.panel, colors.line);
}

} // namespace tokenloupe
