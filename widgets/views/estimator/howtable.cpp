// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/howtable.h"

#include "widgets/controls/celltable.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/estimatedelegate.h"

#include <QAbstractTableModel>
#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

HowTable::HowTable(const QString &accessibleName, QAbstractTableModel *model, int howRole, QWidget *parent)
    : QWidget(parent)
    , m_model(model)
    , m_howRole(howRole)
{
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.scaled(4));
    m_table = new CellTable(accessibleName, this);
    m_table->setModel(model);
    m_table->setItemDelegate(new EstimateDelegate(m_table));
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    layout->addWidget(m_table);
    m_how = new QLabel(this);
    m_how->setTextFormat(Qt::PlainText);
    m_how->setWordWrap(true);
    m_how->setFont(theme.font(TextRole::Small));
    m_how->setForegroundRole(QPalette::PlaceholderText);
    m_how->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_how->setContentsMargins(theme.scaled(6), 0, theme.scaled(6), 0);
    m_how->setAccessibleName(tr("Arithmetic of the selected row"));
    layout->addWidget(m_how);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &HowTable::showHow);
    connect(model, &QAbstractItemModel::modelReset, this, &HowTable::fitRows);
    connect(model, &QAbstractItemModel::dataChanged, this, &HowTable::fitRows);
    connect(&Theme::instance(), &Theme::changed, m_table->viewport(), qOverload<>(&QWidget::update));
    fitRows();
}

QString HowTable::shownText() const
{
    return m_how->text();
}

void HowTable::fitRows()
{
    const int rows = m_model->rowCount();
    const int rowHeight = m_table->verticalHeader()->defaultSectionSize();
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() + rows * rowHeight);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    if (m_model->columnCount() > 0)
        m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    if (rows > 0 && !m_table->currentIndex().isValid())
        m_table->setCurrentIndex(m_model->index(0, 0));
    showHow();
}

void HowTable::showHow()
{
    const QModelIndex current = m_table->currentIndex();
    const QString text = current.isValid() ? current.data(m_howRole).toString() : QString();
    m_how->setText(text);
    m_how->setVisible(!text.isEmpty());
}

} // namespace tokenloupe
