// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/estimator/estimateform.h"

#include "widgets/controls/toggleswitch.h"
#include "widgets/models/estimatormodel.h"
#include "widgets/models/fittablemodel.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/contextfield.h"
#include "widgets/views/estimator/gpupicker.h"
#include "widgets/views/estimator/searchcombo.h"

#include <QComboBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>

namespace tokenloupe {

namespace {

constexpr qsizetype mostFiles = 8;

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

// A choice as the key of a list's entry, and back.
QString keyOf(const ShapeChoice &choice)
{
    return QString::number(static_cast<int>(choice.origin)) + QLatin1Char(':') + choice.name;
}

ShapeChoice choiceOf(const QString &key)
{
    return {static_cast<ShapeOrigin>(key.section(QLatin1Char(':'), 0, 0).toInt()),
            key.section(QLatin1Char(':'), 1)};
}

// Two fields that belong together, side by side.
QWidget *makePair(QWidget *left, QWidget *right)
{
    auto *pair = new QWidget;
    auto *layout = new QHBoxLayout(pair);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(Theme::instance().scaled(4));
    layout->addWidget(left, 1);
    layout->addWidget(right, 1);
    return pair;
}

QSpinBox *makeSpin(const QString &name, int low, int high)
{
    auto *spin = new QSpinBox;
    spin->setRange(low, high);
    spin->setAccessibleName(name);
    spin->setToolTip(name);
    spin->setMinimumWidth(Theme::instance().scaled(60));
    return spin;
}

QComboBox *makeCombo(const QString &name)
{
    auto *combo = new QComboBox;
    combo->setAccessibleName(name);
    combo->setToolTip(name);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    combo->setMinimumContentsLength(4);
    combo->setMinimumWidth(Theme::instance().scaled(60));
    return combo;
}

void showNumber(QSpinBox *spin, std::uint64_t value)
{
    const QSignalBlocker blocker(spin);
    if (std::uint64_t(spin->value()) != value)
        spin->setValue(static_cast<int>(value));
}

void showChoice(QComboBox *combo, int value)
{
    const QSignalBlocker blocker(combo);
    combo->setCurrentIndex(combo->findData(value));
}

} // namespace

EstimateForm::EstimateForm(EstimatorModel &model, QWidget *parent)
    : QWidget(parent)
    , m_model(model)
{
    const Theme &theme = Theme::instance();
    setAccessibleName(tr("Inputs of the estimate"));
    auto *form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setHorizontalSpacing(theme.scaled(8));
    form->setVerticalSpacing(theme.scaled(6));
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    createModelRows(form);
    createRunRows(form);
    createDraftRows(form);
    connect(&m_model, &EstimatorModel::inputsChanged, this, &EstimateForm::refresh);
    fillModels();
    fillTypes();
    refresh();
}

SearchCombo *EstimateForm::createModelCombo(QFormLayout *form, const QString &label, const QString &name,
                                            void (EstimateForm::*open)())
{
    const Theme &theme = Theme::instance();
    auto *combo = new SearchCombo(name);
    auto *button = new QToolButton;
    button->setIcon(theme.icon(QStringLiteral("open")));
    button->setAutoRaise(true);
    button->setAccessibleName(tr("%1: open a file's header").arg(name));
    button->setToolTip(tr("Open a GGUF file or a config.json: only its header is read"));
    auto *row = new QWidget;
    auto *layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.scaled(4));
    layout->addWidget(combo, 1);
    layout->addWidget(button);
    form->addRow(label, row);
    connect(button, &QToolButton::clicked, this, open);
    connect(combo, &SearchCombo::unknownEntered, this, &EstimateForm::unknownShape);
    return combo;
}

void EstimateForm::createModelRows(QFormLayout *form)
{
    m_shape = createModelCombo(form, tr("Model"), tr("Model"), &EstimateForm::openModelRequested);
    connect(m_shape, &SearchCombo::chosen, this,
            [this](const QVariant &key) { m_model.chooseModel(choiceOf(key.toString())); });
    m_weights = new SearchCombo(tr("Weight type"));
    form->addRow(tr("Weights"), m_weights);
    connect(m_weights, &SearchCombo::chosen, this, &EstimateForm::announce);
    connect(m_weights, &SearchCombo::unknownEntered, this, &EstimateForm::unknownType);
    m_cards = new GpuPicker(m_model);
    form->addRow(tr("Runs on"), m_cards);
    connect(m_cards, &GpuPicker::failed, this, &EstimateForm::failed);
    m_split = makeCombo(tr("How the model is split over several cards"));
    m_split->addItem(tr("whole layers"), static_cast<int>(SplitKind::Layers));
    m_split->addItem(tr("every tensor"), static_cast<int>(SplitKind::Tensors));
    form->addRow(tr("Split"), m_split);
    connect(m_split, &QComboBox::activated, this, &EstimateForm::announce);
}

void EstimateForm::createRunRows(QFormLayout *form)
{
    m_context = new ContextField;
    form->addRow(tr("Context"), m_context);
    connect(m_context, &ContextField::edited, this, &EstimateForm::announce);
    m_batch = makeSpin(tr("Batch: sequences at the same time"), 1, mostBatch);
    m_microBatch = makeSpin(tr("Micro-batch: tokens of one forward call"), 0, mostBatch);
    m_microBatch->setSpecialValueText(tr("auto"));
    form->addRow(tr("Batch, micro"), makePair(m_batch, m_microBatch));
    m_keyType = makeCombo(tr("Type of cached keys"));
    m_valueType = makeCombo(tr("Type of cached values"));
    for (const KvType type : kvTypes())
        for (QComboBox *combo : {m_keyType, m_valueType})
            combo->addItem(text(kvTypeName(type)), static_cast<int>(type));
    form->addRow(tr("Keys, values"), makePair(m_keyType, m_valueType));
    m_layout = makeCombo(tr("Layout of the cache"));
    m_layout->addItem(tr("paged"), static_cast<int>(KvLayout::Paged));
    m_layout->addItem(tr("contiguous"), static_cast<int>(KvLayout::Contiguous));
    m_blockTokens = makeSpin(tr("Tokens of one block of the cache"), 1, 4096);
    form->addRow(tr("Cache, block"), makePair(m_layout, m_blockTokens));
    m_beams = makeSpin(tr("Beams: hypotheses of each sequence"), 1, 1024);
    m_prompt = makeSpin(tr("Prompt tokens that the beams share"), 0, mostContextTokens);
    m_prompt->setSpecialValueText(tr("half"));
    form->addRow(tr("Beams, prompt"), makePair(m_beams, m_prompt));
    m_flash = new ToggleSwitch(tr("Flash attention"));
    m_flash->setToolTip(tr("Off: the scores of a whole micro-batch are stored"));
    form->addRow(tr("Flash"), m_flash);
    for (QSpinBox *spin : {m_batch, m_microBatch, m_blockTokens, m_beams, m_prompt})
        connect(spin, &QSpinBox::valueChanged, this, &EstimateForm::announce);
    for (QComboBox *combo : {m_keyType, m_valueType, m_layout})
        connect(combo, &QComboBox::activated, this, &EstimateForm::announce);
    connect(m_flash, &ToggleSwitch::toggled, this, &EstimateForm::announce);
}

void EstimateForm::createDraftRows(QFormLayout *form)
{
    m_draft = createModelCombo(form, tr("Draft"), tr("Draft model"), &EstimateForm::openDraftRequested);
    connect(m_draft, &SearchCombo::chosen, this,
            [this](const QVariant &key) { m_model.chooseDraft(choiceOf(key.toString())); });
    m_draftWeights = new SearchCombo(tr("Weight type of the draft model"));
    form->addRow(tr("… weights"), m_draftWeights);
    connect(m_draftWeights, &SearchCombo::chosen, this, &EstimateForm::announce);
    connect(m_draftWeights, &SearchCombo::unknownEntered, this, &EstimateForm::unknownType);
}

void EstimateForm::unknownShape(const QString &entered)
{
    const auto found = builtInShape(entered.toStdString());
    Q_EMIT failed(tr("There is no built-in model “%1”").arg(entered),
                  found ? QString() : QString::fromStdString(found.error().text()),
                  tr("Pick one from the list, or open the header of a file."));
}

void EstimateForm::unknownType(const QString &entered)
{
    Q_EMIT failed(tr("There is no weight type “%1”").arg(entered), {},
                  tr("Pick one from the list: plain types such as F16 or Q8_0, mixtures such as Q4_K_M."));
}

void EstimateForm::fillModels()
{
    const QString loaded = m_model.loadedTitle();
    const ShapeChoice loadedChoice{ShapeOrigin::Loaded, {}};
    QStringList texts{loaded.isEmpty() ? tr("Loaded model (none is open)") : tr("%1 (loaded)").arg(loaded)};
    QVariantList keys{keyOf(loadedChoice)};
    for (const ShapeChoice &choice : {m_model.inputs().model, m_model.inputs().draft}) {
        if (choice.origin == ShapeOrigin::File && !m_files.contains(choice.name))
            m_files.prepend(choice.name);
    }
    m_files = m_files.mid(0, mostFiles);
    for (const QString &path : m_files) {
        const QFileInfo info(path);
        const bool namesNothing = info.fileName() == QLatin1String("config.json");
        texts << (namesNothing ? QString(QFileInfo(info.path()).fileName() + QStringLiteral("/config.json"))
                               : info.fileName());
        keys << keyOf({ShapeOrigin::File, path});
    }
    for (const std::string &name : builtInShapeNames()) {
        texts << QString::fromStdString(name);
        keys << keyOf({ShapeOrigin::BuiltIn, QString::fromStdString(name)});
    }
    m_shape->setEntries(texts, keys);
    texts.prepend(tr("none"));
    keys.prepend(keyOf({}));
    m_draft->setEntries(texts, keys);
}

void EstimateForm::fillTypes()
{
    QStringList texts{weightTypeTitle("stored", m_model.shape().get())};
    QVariantList keys{QStringLiteral("stored")};
    for (const std::string &name : weightTypeNames()) {
        if (name == "stored")
            continue;
        texts << QString::fromStdString(name);
        keys << QString::fromStdString(name);
    }
    m_weights->setEntries(texts, keys);
    texts[0] = weightTypeTitle("stored", nullptr);
    m_draftWeights->setEntries(texts, keys);
}

void EstimateForm::refresh()
{
    const EstimatorInputs &inputs = m_model.inputs();
    const EstimateRequest &request = inputs.request;
    fillModels();
    fillTypes();
    m_shape->showEntry(keyOf(inputs.model));
    m_draft->showEntry(keyOf(inputs.draft));
    m_weights->showEntry(QString::fromStdString(request.weightType));
    m_draftWeights->showEntry(QString::fromStdString(request.draftWeightType));
    m_draftWeights->setEnabled(inputs.draft.origin != ShapeOrigin::None);
    m_context->setTrained(m_model.shape() ? m_model.shape()->contextTrain : 0);
    m_context->setTokens(request.contextTokens);
    showNumber(m_batch, request.batch);
    showNumber(m_microBatch, request.microBatch);
    showNumber(m_blockTokens, request.blockTokens);
    showNumber(m_beams, request.beams);
    showNumber(m_prompt, request.promptTokens);
    showChoice(m_keyType, static_cast<int>(request.keyType));
    showChoice(m_valueType, static_cast<int>(request.valueType));
    showChoice(m_layout, static_cast<int>(request.layout));
    showChoice(m_split, static_cast<int>(request.split));
    {
        const QSignalBlocker blocker(m_flash);
        m_flash->setChecked(request.attention == AttentionKind::Flash);
    }
    m_blockTokens->setEnabled(request.layout == KvLayout::Paged);
    m_prompt->setEnabled(request.beams > 1);
    m_split->setEnabled(request.devices.size() > 1);
}

void EstimateForm::announce()
{
    EstimateRequest request = m_model.inputs().request;
    request.weightType = m_weights->currentData().toString().toStdString();
    request.draftWeightType = m_draftWeights->currentData().toString().toStdString();
    request.contextTokens = m_context->tokens();
    request.batch = std::uint64_t(m_batch->value());
    request.microBatch = std::uint64_t(m_microBatch->value());
    request.keyType = static_cast<KvType>(m_keyType->currentData().toInt());
    request.valueType = static_cast<KvType>(m_valueType->currentData().toInt());
    request.layout = static_cast<KvLayout>(m_layout->currentData().toInt());
    request.blockTokens = std::uint32_t(m_blockTokens->value());
    request.attention = m_flash->isChecked() ? AttentionKind::Flash : AttentionKind::ScoreMatrix;
    request.beams = std::uint32_t(m_beams->value());
    request.promptTokens = std::uint64_t(m_prompt->value());
    request.split = static_cast<SplitKind>(m_split->currentData().toInt());
    m_model.setRequest(request);
}

} // namespace tokenloupe
