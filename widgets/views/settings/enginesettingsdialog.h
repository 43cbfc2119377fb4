// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"
#include "widgets/models/enginefailure.h"
#include "widgets/models/inspectorcontext.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;

namespace tokenloupe {

/// Device, precision, context, cache and threads of the engine, and what weights become at load. Says what
/// the choice takes before it is applied; applying keeps the model and the trace, and empties the cache;
/// other weights mean that the model is loaded again. Not modal: the panels beside it show what it does.
class EngineSettingsDialog : public QDialog
{
    Q_OBJECT

public:
    explicit EngineSettingsDialog(InspectorContext &context, QWidget *parent = nullptr);

    SessionSettings chosen() const; ///< what the fields say, the rest as it is in force
    LoadQuantization chosenQuantization() const;

Q_SIGNALS:
    void applied(); ///< the engine took them
    /// Another device, or other layers on it, is among what is being applied.
    void deviceChosen(const tokenloupe::SessionSettings &settings);

protected:
    void showEvent(QShowEvent *event) override;

private:
    void addFields(QFormLayout &form);
    void fillDevices();
    void fillLayers();
    void showInForce();
    /// `weightShare`: of the planned bytes of the weights, what they will really take.
    QString planText(const MemoryPlan &plan, double weightShare) const;
    void apply(const SessionSettings &settings, LoadQuantization quantization);
    void refreshPlan();
    QString remark(const SessionSettings &settings) const;
    void accepted();
    void refused(const EngineFailure &failure);

    InspectorContext m_context;
    QComboBox *m_device = nullptr;
    QSpinBox *m_deviceLayers = nullptr;
    QComboBox *m_precision = nullptr;
    QLabel *m_kernels = nullptr;
    QSpinBox *m_contextTokens = nullptr;
    QSpinBox *m_threads = nullptr;
    QSpinBox *m_batch = nullptr;
    QComboBox *m_quantization = nullptr;
    QComboBox *m_keyType = nullptr;
    QComboBox *m_valueType = nullptr;
    QSpinBox *m_blockTokens = nullptr;
    QSpinBox *m_sequences = nullptr;
    QComboBox *m_overflow = nullptr;
    QSpinBox *m_sinks = nullptr;
    QCheckBox *m_keepCache = nullptr;
    QLabel *m_plan = nullptr;
    QLabel *m_note = nullptr;
    QPushButton *m_applyFewer = nullptr; ///< what was refused, with the layers that have room
    QPushButton *m_apply = nullptr;
    EngineFailure m_refused;
    int m_deviceInForce = 0; ///< its place in m_device
    bool m_filling = false;
    bool m_waiting = false; ///< for the engine's answer
};

} // namespace tokenloupe
