// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/settings/enginesettingsdialog.h"

#include "engine/cache/hostmemory.h"
#include "engine/model/quantizationplan.h"
#include "widgets/models/devicetext.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/precisiontext.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

constexpr int mostContext = 1 << 24;

QSpinBox *spinBox(int least, int most, const QString &name)
{
    auto *box = new QSpinBox;
    box->setRange(least, most);
    box->setGroupSeparatorShown(true);
    box->setAccessibleName(name);
    return box;
}

QComboBox *kvTypeBox(const QString &name)
{
    auto *box = new QComboBox;
    box->setAccessibleName(name);
    for (const KvType type : kvTypes())
        box->addItem(QString::fromUtf8(kvTypeName(type).data(), qsizetype(kvTypeName(type).size())),
                     int(type));
    return box;
}

} // namespace

EngineSettingsDialog::EngineSettingsDialog(InspectorContext &context, QWidget *parent)
    : QDialog(parent)
    , m_context(context)
{
    setWindowTitle(tr("Precision, context and cache"));
    const Theme &theme = Theme::instance();
    auto *layout = new QVBoxLayout(this);
    auto *form = new QFormLayout;
    form->setVerticalSpacing(theme.scaled(8));
    form->setHorizontalSpacing(theme.scaled(16));
    addFields(*form);
    layout->addLayout(form);
    m_plan = new QLabel;
    m_plan->setAccessibleName(tr("What these settings take"));
    m_plan->setWordWrap(true);
    m_note = new QLabel;
    m_note->setAccessibleName(tr("Remark"));
    m_note->setWordWrap(true);
    m_note->setForegroundRole(QPalette::PlaceholderText);
    for (QLabel *label : {m_plan, m_note}) {
        label->setTextFormat(Qt::PlainText);
        label->setMinimumWidth(theme.scaled(400));
        layout->addWidget(label);
    }
    m_applyFewer = new QPushButton;
    layout->addWidget(m_applyFewer, 0, Qt::AlignLeft);
    layout->addStretch(1);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Apply | QDialogButtonBox::Close);
    m_apply = buttons->button(QDialogButtonBox::Apply);
    layout->addWidget(buttons);
    m_apply->setDefault(true); // once it is the dialog's

    connect(m_apply, &QPushButton::clicked, this, [this] { apply(chosen(), chosenQuantization()); });
    connect(m_applyFewer, &QPushButton::clicked, this,
            [this] { apply(m_refused.withFewerLayers(), m_refused.options.quantization); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    connect(&context.host, &EngineHost::modelOpened, this, [this] {
        if (m_waiting)
            accepted(); // it was loaded again
        else
            showInForce();
    });
    connect(&context.host, &EngineHost::modelFailed, this,
            [this](const QString &, const EngineFailure &failure) {
                if (!m_waiting)
                    return;
                refused(failure);
                if (failure.message.isEmpty())
                    m_note->setText(tr("Loading was cancelled; the model stays as it was."));
            });
    connect(&context.host, &EngineHost::devicesChanged, this, &EngineSettingsDialog::showInForce);
    connect(&context.host, &EngineHost::configured, this, &EngineSettingsDialog::accepted);
    connect(&context.host, &EngineHost::configureFailed, this, &EngineSettingsDialog::refused);
    showInForce();
}

void EngineSettingsDialog::addFields(QFormLayout &form)
{
    m_device = new QComboBox;
    m_device->setAccessibleName(tr("Device"));
    m_deviceLayers = spinBox(1, 1, tr("Layers on the device"));
    m_deviceLayers->setToolTip(
        tr("The first layers run on the device, the rest with the embedding and the output head on the CPU. "
           "With all of them everything runs on the device."));
    m_precision = new QComboBox;
    m_precision->setAccessibleName(tr("Precision"));
    m_precision->addItem(tr("fast: activations of 15 bits, products in integers"), int(Precision::Fast));
    m_precision->addItem(tr("exact: activations in float32"), int(Precision::Exact));
    for (int i = 0; i < m_precision->count(); ++i)
        m_precision->setItemData(i, precisionSummary(Precision(m_precision->itemData(i).toInt())),
                                 Qt::ToolTipRole);
    m_kernels = new QLabel;
    m_kernels->setAccessibleName(tr("Kernels of the weights"));
    m_kernels->setTextFormat(Qt::PlainText);
    m_kernels->setWordWrap(true);
    m_kernels->setFont(Theme::instance().font(TextRole::Small));
    m_kernels->setForegroundRole(QPalette::PlaceholderText);
    m_contextTokens = spinBox(1, mostContext, tr("Context in tokens"));
    m_contextTokens->setSuffix(tr(" tokens"));
    m_contextTokens->setSingleStep(1024);
    m_quantization = new QComboBox;
    m_quantization->setAccessibleName(tr("Quantise at load"));
    m_quantization->setToolTip(
        tr("Matrices that are stored in a larger type become this one while the model is loaded; norms and "
           "biases stay. The output head stays finer, and so do layers where coarse values cost most."));
    for (const LoadQuantization quantization : loadQuantizations()) {
        const std::string_view title = loadQuantizationTitle(quantization);
        m_quantization->addItem(quantization == LoadQuantization::AsStored
                                    ? tr("as stored")
                                    : QString::fromUtf8(title.data(), qsizetype(title.size())),
                                int(quantization));
    }
    m_threads = spinBox(1, 1024, tr("Threads"));
    m_batch = spinBox(1, 4096, tr("Prefill batch"));
    m_batch->setSuffix(tr(" tokens"));
    m_keyType = kvTypeBox(tr("Type of cached keys"));
    m_valueType = kvTypeBox(tr("Type of cached values"));
    m_blockTokens = spinBox(1, 1024, tr("Tokens in a block"));
    m_blockTokens->setSuffix(tr(" tokens"));
    m_sequences = spinBox(1, 64, tr("Full contexts in the pool"));
    m_sequences->setToolTip(tr("Branches share what they have in common; each needs room for the rest."));
    m_overflow = new QComboBox;
    m_overflow->setAccessibleName(tr("When the context is full"));
    m_overflow->addItem(tr("stop the reply"), int(OverflowPolicy::Stop));
    m_overflow->addItem(tr("drop the oldest turns, keep the system prompt"), int(OverflowPolicy::DropTurns));
    m_overflow->addItem(tr("keep the first and the most recent tokens"), int(OverflowPolicy::Streaming));
    m_sinks = spinBox(0, 4096, tr("First tokens that stay"));
    m_sinks->setSuffix(tr(" tokens, in whole blocks"));
    m_keepCache = new QCheckBox(tr("keep keys and values between steps"));
    m_keepCache->setToolTip(
        tr("Off: every step computes the whole text anew. The same tokens, at a growing cost."));
    form.addRow(tr("Device"), m_device);
    form.addRow(tr("Layers on the device"), m_deviceLayers);
    form.addRow(tr("Precision"), m_precision);
    form.addRow(QString(), m_kernels);
    form.addRow(tr("Context"), m_contextTokens);
    form.addRow(tr("When it is full"), m_overflow);
    form.addRow(tr("First tokens that stay"), m_sinks);
    form.addRow(tr("Keys as"), m_keyType);
    form.addRow(tr("Values as"), m_valueType);
    form.addRow(tr("Block"), m_blockTokens);
    form.addRow(tr("Full contexts in the pool"), m_sequences);
    form.addRow(tr("Cache"), m_keepCache);
    form.addRow(tr("Quantise at load"), m_quantization);
    form.addRow(tr("Threads"), m_threads);
    form.addRow(tr("Prefill batch"), m_batch);
    for (QSpinBox *box :
         {m_deviceLayers, m_contextTokens, m_threads, m_batch, m_blockTokens, m_sequences, m_sinks})
        connect(box, &QSpinBox::valueChanged, this, &EngineSettingsDialog::refreshPlan);
    for (QComboBox *box : {m_device, m_quantization, m_precision, m_keyType, m_valueType, m_overflow})
        connect(box, &QComboBox::currentIndexChanged, this, &EngineSettingsDialog::refreshPlan);
    connect(m_keepCache, &QCheckBox::toggled, this, &EngineSettingsDialog::refreshPlan);
}

void EngineSettingsDialog::showEvent(QShowEvent *event)
{
    showInForce();
    QDialog::showEvent(event);
}

/// The CPU first, then every device; its data is the place in the list, or -1 for what cannot be used.
void EngineSettingsDialog::fillDevices()
{
    const SessionSettings &now = m_context.host.status().session;
    const DeviceList &list = m_context.host.devices();
    m_device->clear();
    m_device->addItem(tr("CPU"), 0);
    const auto addUnusable = [this](const QString &text, const QString &reason) {
        m_device->addItem(text, -1);
        auto *model = qobject_cast<QStandardItemModel *>(m_device->model());
        QStandardItem *item = model->item(m_device->count() - 1);
        item->setEnabled(false);
        item->setToolTip(reason);
    };
    int current = 0;
    for (std::size_t i = 0; i < list.devices.size(); ++i) {
        const DeviceEntry &device = list.devices[i];
        if (!device.problem.empty()) {
            addUnusable(unusableTitle(device), QString::fromStdString(device.problem));
            continue;
        }
        m_device->addItem(deviceTitle(device), int(i) + 1);
        const bool isNow = now.backend == BackendKind::Cuda &&
                           (now.device == device.id || (now.device.empty() && current == 0));
        if (isNow)
            current = m_device->count() - 1;
    }
    if (!list.problem.empty()) {
        const QString problem = QString::fromStdString(list.problem);
        addUnusable(noDeviceTitle(problem), problem);
    }
    m_device->setCurrentIndex(current);
    m_deviceInForce = current;
}

/// From one to all that the model has; all: the device computes everything.
void EngineSettingsDialog::fillLayers()
{
    const EngineStatus &status = m_context.host.status();
    const int layers = status.model ? int(status.model->config().layers) : 1;
    m_deviceLayers->setRange(1, layers);
    m_deviceLayers->setSuffix(tr(" of %1").arg(formatCount(std::uint64_t(layers))));
    m_deviceLayers->setValue(int(status.session.deviceLayers.value_or(std::uint32_t(layers))));
}

void EngineSettingsDialog::showInForce()
{
    const SessionSettings &now = m_context.host.status().session;
    m_filling = true;
    fillDevices();
    fillLayers();
    m_precision->setCurrentIndex(m_precision->findData(int(now.precision)));
    m_contextTokens->setValue(int(std::min<std::uint32_t>(std::max(1U, now.contextTokens), mostContext)));
    m_threads->setValue(std::max(1, now.threads));
    m_batch->setValue(int(now.batchTokens));
    const auto &model = m_context.host.status().model;
    m_quantization->setCurrentIndex(
        m_quantization->findData(int(model ? model->options.quantization : LoadQuantization::AsStored)));
    m_quantization->setEnabled(model != nullptr);
    m_keyType->setCurrentIndex(m_keyType->findData(int(now.keyType)));
    m_valueType->setCurrentIndex(m_valueType->findData(int(now.valueType)));
    m_blockTokens->setValue(int(now.blockTokens));
    m_sequences->setValue(int(now.sequences));
    m_overflow->setCurrentIndex(m_overflow->findData(int(now.overflow)));
    m_sinks->setValue(int(now.sinkTokens));
    m_keepCache->setChecked(now.cacheUse == CacheUse::Keep);
    m_filling = false;
    refreshPlan();
}

SessionSettings EngineSettingsDialog::chosen() const
{
    SessionSettings settings = m_context.host.status().session;
    const int device = m_device->currentData().toInt();
    if (m_device->currentIndex() != m_deviceInForce && device >= 0) {
        settings.backend = device == 0 ? BackendKind::Cpu : BackendKind::Cuda;
        settings.device =
            device == 0 ? std::string() : m_context.host.devices().devices[std::size_t(device - 1)].id;
    }
    if (settings.backend != BackendKind::Cpu) {
        const bool isAll = m_deviceLayers->value() == m_deviceLayers->maximum();
        settings.deviceLayers = isAll ? std::nullopt : std::optional(std::uint32_t(m_deviceLayers->value()));
    }
    settings.precision = Precision(m_precision->currentData().toInt());
    settings.contextTokens = std::uint32_t(m_contextTokens->value());
    settings.threads = m_threads->value();
    settings.batchTokens = std::uint32_t(m_batch->value());
    settings.keyType = KvType(m_keyType->currentData().toInt());
    settings.valueType = KvType(m_valueType->currentData().toInt());
    settings.blockTokens = std::uint32_t(m_blockTokens->value());
    settings.sequences = std::uint32_t(m_sequences->value());
    settings.overflow = OverflowPolicy(m_overflow->currentData().toInt());
    settings.sinkTokens = std::uint32_t(m_sinks->value());
    settings.cacheUse = m_keepCache->isChecked() ? CacheUse::Keep : CacheUse::Recompute;
    return settings;
}

LoadQuantization EngineSettingsDialog::chosenQuantization() const
{
    return LoadQuantization(m_quantization->currentData().toInt());
}

void EngineSettingsDialog::refreshPlan()
{
    if (m_filling)
        return;
    m_applyFewer->hide();
    const EngineStatus &status = m_context.host.status();
    const SessionSettings settings = chosen();
    const bool isCpu = settings.backend == BackendKind::Cpu;
    const bool isSplit = !isCpu && settings.deviceLayers;
    m_threads->setEnabled(isCpu || isSplit);
    m_deviceLayers->setEnabled(!isCpu && m_deviceLayers->maximum() > 1);
    m_sinks->setEnabled(settings.overflow == OverflowPolicy::Streaming);
    const bool isOther = status.model && chosenQuantization() != status.model->options.quantization;
    m_apply->setEnabled(status.model && !m_waiting && (isOther || !(settings == status.session)));
    if (!status.model) {
        m_plan->setText(tr("Open a model first."));
        m_kernels->clear();
        m_note->clear();
        return;
    }
    m_kernels->setText(isCpu ? weightKernelsText(*status.model->model, settings.precision)
                             : tr("Weights stay quantised on the device, laid out for its kernels."));
    const bool isSame = settings.backend == status.session.backend &&
                        settings.device == status.session.device &&
                        settings.deviceLayers == status.session.deviceLayers;
    const auto plan = sessionPlan(*status.model, settings, isSame ? status.deviceNeeds : std::nullopt);
    if (!plan) {
        m_plan->setText(QString::fromStdString(plan.error().text()));
        m_note->clear();
        m_apply->setEnabled(false);
        return;
    }
    // In the file's form or quantised; a layout for fast kernels takes hardly more.
    const double planned = double(plan->bytesOf(MemoryPart::Weights));
    const double weights =
        isOther ? double(weightsBytesAs(*status.model->model, chosenQuantization())) : planned;
    m_plan->setText(planText(*plan, planned > 0.0 ? weights / planned : 1.0));
    m_note->setText(isOther ? tr("Applying loads the model again: a running reply ends, and the trace too.")
                            : remark(settings));
}

QString EngineSettingsDialog::planText(const MemoryPlan &plan, double weightShare) const
{
    const auto weightsIn = [&](MemoryPlace place) {
        return std::uint64_t(double(plan.bytesOf(MemoryPart::Weights, place)) * weightShare);
    };
    const auto bytesIn = [&](MemoryPlace place) {
        return plan.bytesIn(place) - plan.bytesOf(MemoryPart::Weights, place) + weightsIn(place);
    };
    const MemoryPlace main = plan.hasDevice() ? MemoryPlace::Device : MemoryPlace::Host;
    const QString weights = formatBytes(weightsIn(main));
    const QString cache = formatBytes(plan.bytesOf(MemoryPart::KvCache, main));
    if (!plan.hasDevice())
        return tr("Takes %1 in all, %2 of it for weights, %3 for keys and values. %4 are free now.")
            .arg(formatBytes(bytesIn(main)), weights, cache, formatBytes(availableMemoryBytes()));
    const auto &memory = m_context.host.status().deviceMemory;
    const QString text =
        tr("Takes %1 of the device, %2 of it for weights, %3 for keys and values, and %4 here.")
            .arg(formatBytes(bytesIn(main)), weights, cache, formatBytes(bytesIn(MemoryPlace::Host)));
    return memory ? tr("%1 %2 of the device are free now.").arg(text, formatBytes(memory->freeBytes)) : text;
}

QString EngineSettingsDialog::remark(const SessionSettings &settings) const
{
    const EngineStatus &status = m_context.host.status();
    const std::uint32_t trained = status.model->config().contextTrain;
    SessionSettings onlyCacheUse = status.session;
    onlyCacheUse.cacheUse = settings.cacheUse;
    if (settings.contextTokens > trained && trained > 0)
        return tr("The model was trained for %1 tokens: beyond them its answers get worse.")
            .arg(formatCount(trained));
    if (settings == status.session)
        return tr("These settings are in force.");
    if (settings == onlyCacheUse)
        return tr("Takes effect with the next token.");
    if (settings.precision != status.session.precision)
        return tr("Applying ends a running reply and empties the cache: the next message computes the whole "
                  "conversation anew in this precision. Chat and trace stay.");
    return tr("Applying ends a running reply and empties the cache; the trace stays.");
}

void EngineSettingsDialog::apply(const SessionSettings &settings, LoadQuantization quantization)
{
    const EngineStatus &status = m_context.host.status();
    SessionSettings onlyCacheUse = status.session;
    onlyCacheUse.cacheUse = settings.cacheUse;
    m_waiting = true;
    m_apply->setEnabled(false);
    m_applyFewer->hide();
    if (settings.backend != status.session.backend || settings.device != status.session.device ||
        settings.deviceLayers != status.session.deviceLayers)
        Q_EMIT deviceChosen(settings);
    if (quantization != status.model->options.quantization) {
        ModelLoadOptions options = status.model->options;
        options.quantization = quantization;
        m_context.host.openModel(QString::fromStdString(status.model->model->path().string()), settings,
                                 options);
    } else if (settings == onlyCacheUse) {
        m_context.host.setCacheUse(settings.cacheUse);
    } else {
        m_context.host.configure(settings);
    }
}

void EngineSettingsDialog::accepted()
{
    m_waiting = false;
    showInForce();
    Q_EMIT applied();
}

void EngineSettingsDialog::refused(const EngineFailure &failure)
{
    m_waiting = false;
    refreshPlan();
    if (failure.message.isEmpty())
        return; // cancelled, or replaced by newer settings
    m_note->setText(failure.message);
    m_refused = failure;
    m_applyFewer->setVisible(failure.deviceLayers > 0);
    m_applyFewer->setText(tr("Apply with %1 on the device").arg(layersText(failure.deviceLayers)));
}

} // namespace tokenloupe
