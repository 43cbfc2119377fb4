// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/estimatorinputs.h"

#include <QSettings>
#include <algorithm>

namespace tokenloupe {

namespace {

QString key(const char *name)
{
    return QStringLiteral("estimator/") + QString::fromLatin1(name);
}

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

void saveChoice(QSettings &settings, const char *name, const ShapeChoice &choice)
{
    settings.setValue(key(name), QStringList{QString::number(static_cast<int>(choice.origin)), choice.name});
}

ShapeChoice restoreChoice(const QSettings &settings, const char *name, const ShapeChoice &otherwise)
{
    const QStringList saved = settings.value(key(name)).toStringList();
    if (saved.size() != 2)
        return otherwise;
    const int origin = saved[0].toInt();
    if (origin < static_cast<int>(ShapeOrigin::None) || origin > static_cast<int>(ShapeOrigin::BuiltIn))
        return otherwise;
    return {static_cast<ShapeOrigin>(origin), saved[1]};
}

std::uint64_t restoreNumber(const QSettings &settings, const char *name, std::uint64_t otherwise,
                            std::uint64_t low, std::uint64_t high)
{
    bool isNumber = false;
    const std::uint64_t value = settings.value(key(name)).toULongLong(&isNumber);
    return isNumber ? std::clamp(value, low, high) : otherwise;
}

KvType restoreKvType(const QSettings &settings, const char *name, KvType otherwise)
{
    return kvTypeOf(settings.value(key(name)).toString().toStdString()).value_or(otherwise);
}

} // namespace

EstimatorInputs::EstimatorInputs()
{
    request.target = EstimateTarget::ThisProgram;
}

void saveInputs(QSettings &settings, const EstimatorInputs &inputs)
{
    const EstimateRequest &request = inputs.request;
    saveChoice(settings, "model", inputs.model);
    saveChoice(settings, "draft", inputs.draft);
    QStringList cards;
    for (const Gpu &gpu : request.devices)
        cards << QString::fromStdString(gpu.name);
    settings.setValue(key("cards"), cards);
    settings.setValue(key("weights"), QString::fromStdString(request.weightType));
    settings.setValue(key("draftWeights"), QString::fromStdString(request.draftWeightType));
    settings.setValue(key("keyType"), text(kvTypeName(request.keyType)));
    settings.setValue(key("valueType"), text(kvTypeName(request.valueType)));
    settings.setValue(key("context"), qulonglong(request.contextTokens));
    settings.setValue(key("batch"), qulonglong(request.batch));
    settings.setValue(key("microBatch"), qulonglong(request.microBatch));
    settings.setValue(key("blockTokens"), request.blockTokens);
    settings.setValue(key("beams"), request.beams);
    settings.setValue(key("prompt"), qulonglong(request.promptTokens));
    settings.setValue(key("paged"), request.layout == KvLayout::Paged);
    settings.setValue(key("flash"), request.attention == AttentionKind::Flash);
    settings.setValue(key("byLayers"), request.split == SplitKind::Layers);
}

EstimatorInputs restoreInputs(const QSettings &settings, const GpuCatalogue &catalogue, QStringList &missing)
{
    EstimatorInputs inputs;
    EstimateRequest &request = inputs.request;
    inputs.model = restoreChoice(settings, "model", inputs.model);
    if (inputs.model.origin == ShapeOrigin::None)
        inputs.model = {ShapeOrigin::Loaded, {}};
    inputs.draft = restoreChoice(settings, "draft", inputs.draft);
    for (const QString &name : settings.value(key("cards")).toStringList()) {
        const auto gpu = catalogue.find(name.toStdString());
        if (gpu)
            request.devices.push_back(*gpu);
        else
            missing << name;
    }
    request.target = request.devices.empty() ? EstimateTarget::ThisProgram : EstimateTarget::Gpu;
    const std::vector<std::string> types = weightTypeNames();
    const auto weights = [&](const char *name) {
        const std::string saved = settings.value(key(name)).toString().toStdString();
        return std::find(types.begin(), types.end(), saved) != types.end() ? saved : std::string("stored");
    };
    request.weightType = weights("weights");
    request.draftWeightType = weights("draftWeights");
    request.keyType = restoreKvType(settings, "keyType", request.keyType);
    request.valueType = restoreKvType(settings, "valueType", request.valueType);
    request.contextTokens =
        restoreNumber(settings, "context", request.contextTokens, 1, std::uint64_t(mostContextTokens));
    request.batch = restoreNumber(settings, "batch", request.batch, 1, std::uint64_t(mostBatch));
    request.microBatch =
        restoreNumber(settings, "microBatch", request.microBatch, 0, std::uint64_t(mostBatch));
    request.blockTokens = std::uint32_t(restoreNumber(settings, "blockTokens", request.blockTokens, 1, 4096));
    request.beams = std::uint32_t(restoreNumber(settings, "beams", request.beams, 1, 1024));
    request.promptTokens =
        restoreNumber(settings, "prompt", request.promptTokens, 0, std::uint64_t(mostContextTokens));
    request.layout = settings.value(key("paged"), true).toBool() ? KvLayout::Paged : KvLayout::Contiguous;
    request.attention =
        settings.value(key("flash"), true).toBool() ? AttentionKind::Flash : AttentionKind::ScoreMatrix;
    request.split = settings.value(key("byLayers"), true).toBool() ? SplitKind::Layers : SplitKind::Tensors;
    return inputs;
}

} // namespace tokenloupe
