// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/fittableview.h"

#include "widgets/controls/celltable.h"
#include "widgets/models/fittablemodel.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/estimatedelegate.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QVBoxLayout>

namespace tokenloupe {

FitTableView::FitTableView(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.scaled(8), 0, 0);
    layout->setSpacing(theme.scaled(4));
    m_note = new QLabel(this);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setFont(theme.font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    layout->addWidget(m_note);
    m_model = new FitTableModel(this);
    m_table = new CellTable(tr("What fits, by weight type and context"), this);
    m_table->setModel(m_model);
    m_table->setItemDelegate(new EstimateDelegate(m_table));
    m_table->setSelectionBehavior(QAbstractItemView::SelectItems);
    m_table->setSelectionMode(QAbstractItemView::NoSelection); // the frame says what is chosen
    m_table->verticalHeader()->show();
    m_table->verticalHeader()->setFont(theme.font(TextRole::Body));
    m_table->verticalHeader()->setHighlightSections(false);
    m_table->verticalHeader()->setSectionsClickable(false);
    m_table->setCornerButtonEnabled(false);
    m_table->viewport()->setCursor(Qt::PointingHandCursor);
    m_table->installEventFilter(this);
    layout->addWidget(m_table, 1);
    connect(m_table, &QTableView::clicked, this, &FitTableView::pick);
    connect(&Theme::instance(), &Theme::changed, m_table->viewport(), qOverload<>(&QWidget::update));
}

void FitTableView::setResult(const EstimatorResultPtr &result)
{
    m_model->setResult(result);
    m_note->setText(result->fitsError.isEmpty()
                        ? tr("%1 in all, by weight type and context in tokens. Click a cell to take it over.")
                              .arg(m_model->unit())
                        : tr("There is no table: %1").arg(result->fitsError));
    m_table->setVisible(result->fitsError.isEmpty());
    m_table->resizeColumnsToContents();
    if (const QModelIndex current = m_model->currentCell();
        current.isValid() && m_table->currentIndex() != current) {
        m_table->setCurrentIndex(current);
        m_table->scrollTo(current);
    }
}

void FitTableView::pick(const QModelIndex &index)
{
    if (index.isValid())
        Q_EMIT picked(index.data(FitTableModel::WeightTypeRole).toString(),
                      index.data(FitTableModel::ContextRole).toULongLong());
}

bool FitTableView::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent *>(event)->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
            pick(m_table->currentIndex());
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace tokenloupe
