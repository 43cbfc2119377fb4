// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/operationtimes.h"
#include "engine/compute/devicelist.h"
#include "engine/trace/steprecord.h"

#include <QString>

namespace tokenloupe {

QString deviceTitle(const DeviceEntry &device);   ///< "NVIDIA H200 · 139 GiB"
QString unusableTitle(const DeviceEntry &device); ///< the same with the reason: it cannot be used
QString noDeviceTitle(const QString &problem);    ///< "CUDA: no NVIDIA driver"
QString layersText(std::uint32_t layers);         ///< "1 layer", "22 layers"
/// "22 of 32 layers on NVIDIA H200"
QString partText(std::uint32_t layers, std::uint32_t allLayers, const QString &device);
/// What computed a run of a model of so many layers: "CPU", "NVIDIA H200", or as partText().
QString computedByText(const RunArithmetic &arithmetic, std::uint32_t allLayers);
QString operationTitle(Operation operation);   ///< "rotary, store"
QString operationSummary(Operation operation); ///< what counts to it

/// How much of what its device's memory gives a step took; 0: not known.
double bandwidthShare(const RunRecord &run, const StepRecord &step);
/// Bytes per second as they are sold: "4.80 TB/s".
QString bandwidthText(double bytesPerSecond);
/// "read 138 MiB, 96.4 GB/s: 2.01 % of 4.80 TB/s"; without the share where the memory's speed is not known;
/// empty where nothing is known.
QString bandwidthDetails(const RunRecord &run, const StepRecord &step);

} // namespace tokenloupe
