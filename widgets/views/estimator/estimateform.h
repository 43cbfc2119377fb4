// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorinputs.h"

#include <QWidget>

class QComboBox;
class QFormLayout;
class QSpinBox;

namespace tokenloupe {

class ContextField;
class EstimatorModel;
class GpuPicker;
class SearchCombo;
class ToggleSwitch;

/// The estimator's inputs. Every change goes to the model at once, also while one types; what the model says
/// is shown without disturbing the field that is being edited.
class EstimateForm : public QWidget
{
    Q_OBJECT

public:
    explicit EstimateForm(EstimatorModel &model, QWidget *parent = nullptr);

Q_SIGNALS:
    void openModelRequested(); ///< a file dialog is wanted
    void openDraftRequested();
    void failed(const QString &what, const QString &why, const QString &advice);

private:
    void createModelRows(QFormLayout *form);
    void createRunRows(QFormLayout *form);
    void createDraftRows(QFormLayout *form);
    SearchCombo *createModelCombo(QFormLayout *form, const QString &label, const QString &name,
                                  void (EstimateForm::*open)());
    void fillModels();
    void fillTypes();
    void refresh();
    void announce();
    void unknownType(const QString &text);
    void unknownShape(const QString &text);

    EstimatorModel &m_model;
    QStringList m_files; ///< headers that were opened, the newest first
    SearchCombo *m_shape = nullptr;
    SearchCombo *m_weights = nullptr;
    GpuPicker *m_cards = nullptr;
    ContextField *m_context = nullptr;
    QSpinBox *m_batch = nullptr;
    QSpinBox *m_microBatch = nullptr;
    QComboBox *m_keyType = nullptr;
    QComboBox *m_valueType = nullptr;
    ToggleSwitch *m_flash = nullptr;
    QComboBox *m_layout = nullptr;
    QSpinBox *m_blockTokens = nullptr;
    QSpinBox *m_beams = nullptr;
    QSpinBox *m_prompt = nullptr;
    QComboBox *m_split = nullptr;
    SearchCombo *m_draft = nullptr;
    SearchCombo *m_draftWeights = nullptr;
};

} // namespace tokenloupe
