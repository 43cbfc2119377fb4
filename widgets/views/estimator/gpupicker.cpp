// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/gpupicker.h"

#include "widgets/controls/celltable.h"
#include "widgets/models/estimatormodel.h"
#include "widgets/models/gpulistmodel.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/estimatedelegate.h"
#include "widgets/views/estimator/gpueditor.h"
#include "widgets/views/estimator/searchcombo.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr int mostRowsShown = 4;
constexpr int leastForBandwidth = 240; // a narrower list shows names whole instead

// Entry of the list that stands for this machine; no card has an empty name.
QVariant thisMachineEntry()
{
    return QString();
}

QToolButton *makeButton(const QString &icon, const QString &name, QWidget *parent)
{
    auto *button = new QToolButton(parent);
    button->setIcon(Theme::instance().icon(icon));
    button->setAccessibleName(name);
    button->setToolTip(name);
    button->setAutoRaise(true);
    return button;
}

} // namespace

GpuPicker::GpuPicker(EstimatorModel &model, QWidget *parent)
    : QWidget(parent)
    , m_model(model)
{
    const Theme &theme = Theme::instance();
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.scaled(4));
    m_add = new SearchCombo(tr("Add a card"), this);
    m_edit = makeButton(QStringLiteral("edit"), tr("Edit the numbers into a card of your own"), this);
    m_remove = makeButton(QStringLiteral("trash"), tr("Take the card out"), this);
    auto *row = new QHBoxLayout;
    row->setSpacing(theme.scaled(4));
    row->addWidget(m_add, 1);
    row->addWidget(m_edit);
    row->addWidget(m_remove);
    layout->addLayout(row);
    m_gpus = new GpuListModel(this);
    m_table = new CellTable(tr("Chosen cards"), this);
    m_table->setModel(m_gpus);
    m_table->setItemDelegate(new EstimateDelegate(m_table));
    m_table->horizontalHeader()->hide();
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_table->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setMinimumWidth(theme.scaled(120));
    m_table->installEventFilter(this);
    layout->addWidget(m_table);
    m_editor = new GpuEditor(this);
    m_editor->hide();
    layout->addWidget(m_editor);

    connect(m_add, &SearchCombo::chosen, this, [this](const QVariant &name) {
        if (name == thisMachineEntry())
            m_model.useThisMachine();
        else
            m_model.addDevice(name.toString());
    });
    connect(m_add, &SearchCombo::unknownEntered, &m_model, &EstimatorModel::addDevice);
    connect(m_edit, &QToolButton::clicked, this, &GpuPicker::editCurrent);
    connect(m_remove, &QToolButton::clicked, this, &GpuPicker::removeCurrent);
    connect(m_table, &QTableView::doubleClicked, this, &GpuPicker::editCurrent);
    connect(m_editor, &GpuEditor::cancelled, this, [this] {
        m_editor->hide();
        m_table->setFocus();
    });
    connect(m_editor, &GpuEditor::saved, this, [this](const Gpu &gpu) {
        const Status saved = m_model.saveDevice(gpu, m_edited);
        if (!saved) {
            Q_EMIT failed(tr("The card was not saved"), QString::fromStdString(saved.error().text()),
                          tr("Correct its numbers; nothing was changed."));
            return;
        }
        m_editor->hide();
        m_table->setFocus();
    });
    connect(&m_model, &EstimatorModel::catalogueChanged, this, &GpuPicker::fillCatalogue);
    connect(&m_model, &EstimatorModel::inputsChanged, this, &GpuPicker::refresh);
    fillCatalogue();
    refresh();
}

void GpuPicker::fillCatalogue()
{
    QStringList texts{tr("This machine (CPU)")};
    QVariantList entries{thisMachineEntry()};
    for (const Gpu &gpu : m_model.catalogue().gpus()) {
        const QString name = QString::fromStdString(gpu.name);
        texts << QString(name + QStringLiteral(" · ") + formatBytes(gpu.memoryBytes));
        entries << name;
    }
    m_add->setEntries(texts, entries);
    refresh();
}

void GpuPicker::refresh()
{
    const std::vector<Gpu> &devices = m_model.inputs().request.devices;
    const bool isThisMachine = m_model.inputs().request.target == EstimateTarget::ThisProgram;
    const int current = m_table->currentIndex().row();
    m_gpus->setGpus(devices);
    // The field says what is chosen while that is one thing, and invites to add when it is several.
    m_add->setPlaceholder(tr("Add…"));
    m_add->showEntry(isThisMachine ? thisMachineEntry() : QVariant());
    const int rows = static_cast<int>(devices.size());
    m_table->setVisible(rows > 0);
    m_edit->setEnabled(rows > 0);
    m_remove->setEnabled(rows > 0);
    if (rows > 0) {
        m_table->setFixedHeight(std::min(rows, mostRowsShown) *
                                m_table->verticalHeader()->defaultSectionSize());
        m_table->resizeColumnToContents(GpuListModel::MemoryColumn);
        m_table->resizeColumnToContents(GpuListModel::BandwidthColumn);
        m_table->setCurrentIndex(m_gpus->index(std::clamp(current, 0, rows - 1), 0));
    }
}

void GpuPicker::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    m_table->setColumnHidden(GpuListModel::BandwidthColumn,
                             width() < Theme::instance().scaled(leastForBandwidth));
}

void GpuPicker::editCurrent()
{
    const std::vector<Gpu> &devices = m_model.inputs().request.devices;
    m_edited = m_table->currentIndex().row();
    if (m_edited < 0 || static_cast<std::size_t>(m_edited) >= devices.size())
        return;
    Gpu gpu = devices[static_cast<std::size_t>(m_edited)];
    // Under its own name it would hide the card that it was made from.
    const QString mine = tr("%1, mine").arg(QString::fromStdString(gpu.name));
    if (!QString::fromStdString(gpu.name).endsWith(tr("%1, mine").arg(QString())))
        gpu.name = mine.toStdString();
    m_editor->show();
    m_editor->edit(gpu);
}

void GpuPicker::removeCurrent()
{
    m_editor->hide();
    m_model.removeDevice(m_table->currentIndex().row());
}

bool GpuPicker::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        switch (static_cast<QKeyEvent *>(event)->key()) {
        case Qt::Key_Delete:
        case Qt::Key_Backspace:
            removeCurrent();
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            editCurrent();
            return true;
        default:
            break;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace tokenloupe
