// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/gpueditor.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

QDoubleSpinBox *makeBox(const QString &name, double most)
{
    auto *box = new QDoubleSpinBox;
    box->setRange(0.0, most);
    box->setDecimals(1);
    box->setAccessibleName(name);
    box->setToolTip(name);
    box->setMinimumWidth(Theme::instance().scaled(72));
    return box;
}

} // namespace

GpuEditor::GpuEditor(QWidget *parent)
    : QWidget(parent)
{
    const Theme &theme = Theme::instance();
    setAccessibleName(tr("Card of your own"));
    auto *form = new QFormLayout(this);
    form->setContentsMargins(0, theme.scaled(4), 0, theme.scaled(4));
    form->setSpacing(theme.scaled(4));
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    m_name = new QLineEdit;
    m_name->setMinimumWidth(theme.scaled(72));
    m_name->setAccessibleName(tr("Name of the card"));
    m_memory = makeBox(tr("Memory of the card in GiB"), 65536.0);
    m_bandwidth = makeBox(tr("Memory bandwidth in GB/s"), 1e6);
    m_flops = makeBox(tr("Half-precision matrix rate in TFLOP/s"), 1e6);
    m_flops->setToolTip(tr("Dense half-precision matrix products, multiply and add counted as two"));
    form->addRow(tr("Name"), m_name);
    form->addRow(QStringLiteral("GiB"), m_memory);
    form->addRow(QStringLiteral("GB/s"), m_bandwidth);
    form->addRow(QStringLiteral("TFLOP/s"), m_flops);
    auto *saveButton = new QPushButton(tr("Save"));
    saveButton->setDefault(true);
    saveButton->setAccessibleName(tr("Save as a card of your own"));
    auto *cancelButton = new QPushButton(tr("Cancel"));
    auto *buttons = new QHBoxLayout;
    buttons->setSpacing(theme.scaled(4));
    buttons->addStretch(1);
    for (QPushButton *button : {cancelButton, saveButton})
        button->setMinimumWidth(theme.scaled(56));
    buttons->addWidget(cancelButton);
    buttons->addWidget(saveButton);
    form->addRow(buttons);
    connect(saveButton, &QPushButton::clicked, this, &GpuEditor::save);
    connect(cancelButton, &QPushButton::clicked, this, &GpuEditor::cancelled);
}

void GpuEditor::edit(const Gpu &gpu)
{
    m_gpu = gpu;
    m_name->setText(QString::fromStdString(gpu.name));
    m_memory->setValue(static_cast<double>(gpu.memoryBytes) / gibibyte);
    m_bandwidth->setValue(gpu.bandwidth / 1e9);
    m_flops->setValue(gpu.halfFlops / 1e12);
    m_name->setFocus();
    m_name->selectAll();
}

void GpuEditor::save()
{
    Gpu gpu = m_gpu;
    gpu.name = m_name->text().trimmed().toStdString();
    gpu.memoryBytes = static_cast<std::uint64_t>(std::llround(m_memory->value() * gibibyte));
    gpu.bandwidth = m_bandwidth->value() * 1e9;
    gpu.halfFlops = m_flops->value() * 1e12;
    Q_EMIT saved(gpu);
}

void GpuEditor::keyPressEvent(QKeyEvent *event)
{
    if (event->key() == Qt::Key_Escape)
        Q_EMIT cancelled();
    else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        save();
    else
        QWidget::keyPressEvent(event);
}

} // namespace tokenloupe
