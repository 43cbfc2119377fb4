// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/gpucatalogue.h"

#include <QWidget>

class QDoubleSpinBox;
class QLineEdit;

namespace tokenloupe {

/// A card's name and numbers, to make one of the user's own. Escape or Cancel leaves it, Return saves.
class GpuEditor : public QWidget
{
    Q_OBJECT

public:
    explicit GpuEditor(QWidget *parent = nullptr);

    void edit(const Gpu &gpu); ///< shows its numbers and takes the focus

Q_SIGNALS:
    void saved(const tokenloupe::Gpu &gpu);
    void cancelled();

protected:
    void keyPressEvent(QKeyEvent *event) override;

private:
    void save();

    Gpu m_gpu;
    QLineEdit *m_name = nullptr;
    QDoubleSpinBox *m_memory = nullptr;    // GiB
    QDoubleSpinBox *m_bandwidth = nullptr; // GB/s
    QDoubleSpinBox *m_flops = nullptr;     // TFLOP/s
};

} // namespace tokenloupe
