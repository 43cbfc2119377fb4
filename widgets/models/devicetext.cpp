// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/devicetext.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <array>

namespace tokenloupe {

namespace {

QString tr(const char *text)
{
    return QCoreApplication::translate("tokenloupe::Device", text);
}

double readPerSecond(const StepRecord &step)
{
    return step.forwardMs > 0.0 ? static_cast<double>(step.readBytes) / (step.forwardMs * 1e-3) : 0.0;
}

} // namespace

QString deviceTitle(const DeviceEntry &device)
{
    const QString name = QString::fromStdString(device.name.empty() ? device.id : device.name);
    return device.totalBytes > 0 ? QString(name + QStringLiteral(" · ") + formatBytes(device.totalBytes))
                                 : name;
}

QString unusableTitle(const DeviceEntry &device)
{
    return tr("%1: not usable").arg(deviceTitle(device));
}

QString noDeviceTitle(const QString &problem)
{
    return tr("CUDA: %1").arg(problem);
}

QString partText(std::uint32_t layers, std::uint32_t allLayers, const QString &device)
{
    return tr("%1 of %2 layers on %3").arg(formatCount(layers), formatCount(allLayers), device);
}

QString layersText(std::uint32_t layers)
{
    return counted(layers, tr("layer"), tr("layers"));
}

QString computedByText(const RunArithmetic &arithmetic, std::uint32_t allLayers)
{
    if (arithmetic.device.empty())
        return tr("CPU");
    const QString device = QString::fromStdString(arithmetic.device);
    return arithmetic.deviceLayers ? partText(*arithmetic.deviceLayers, allLayers, device) : device;
}

QString operationTitle(Operation operation)
{
    switch (operation) {
    case Operation::Embedding:
        return tr("embedding");
    case Operation::Norm:
        return tr("norm");
    case Operation::Product:
        return tr("products");
    case Operation::RotaryStore:
        return tr("rotary, store");
    case Operation::Attention:
        return tr("attention");
    case Operation::Activation:
        return tr("activation");
    case Operation::Head:
        return tr("head");
    case Operation::Copy:
        break;
    }
    return tr("copy");
}

QString operationSummary(Operation operation)
{
    switch (operation) {
    case Operation::Embedding:
        return tr("Rows of the embedding table for the tokens, learned positions and the scale of both.");
    case Operation::Norm:
        return tr("Norms, the sums of the residual stream before them, and rounding that goes with them.");
    case Operation::Product:
        return tr("Products with the weights of the layers, routes to experts among them.");
    case Operation::RotaryStore:
        return tr("Turning queries and keys to their positions, and storing keys and values in the cache.");
    case Operation::Attention:
        return tr("Scores of the cached keys, softmax, and the sum of the values.");
    case Operation::Activation:
        return tr("The feed-forward's activation and its gate.");
    case Operation::Head:
        return tr("The product with the output matrix that gives a logit for every token of the vocabulary.");
    case Operation::Copy:
        break;
    }
    return tr("The logits' way from the device to the host; where the device computes a part of the layers, "
              "that of the rows between both.");
}

double bandwidthShare(const RunRecord &run, const StepRecord &step)
{
    return run.deviceBytesPerSecond > 0.0 ? readPerSecond(step) / run.deviceBytesPerSecond : 0.0;
}

QString bandwidthText(double bytesPerSecond)
{
    constexpr std::array units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    std::size_t unit = 0;
    while (bytesPerSecond >= 1000.0 && unit + 1 < units.size()) {
        bytesPerSecond /= 1000.0;
        ++unit;
    }
    return formatRate(bytesPerSecond, QString::fromLatin1(units[unit]));
}

QString bandwidthDetails(const RunRecord &run, const StepRecord &step)
{
    const double perSecond = readPerSecond(step);
    if (perSecond <= 0.0)
        return {};
    const QString read = tr("read %1, %2").arg(formatBytes(step.readBytes), bandwidthText(perSecond));
    if (run.deviceBytesPerSecond <= 0.0)
        return read;
    return tr("%1: %2 % of %3")
        .arg(read, formatPercent(bandwidthShare(run, step)), bandwidthText(run.deviceBytesPerSecond));
}

} // namespace tokenloupe
