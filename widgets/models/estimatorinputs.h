// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

#include <QString>
#include <QStringList>

class QSettings;

namespace tokenloupe {

/// Where a model's sizes come from.
enum class ShapeOrigin { None, Loaded, File, BuiltIn };

struct ShapeChoice
{
    ShapeOrigin origin = ShapeOrigin::None;
    QString name; ///< path of a file, name of a built-in shape; else empty

    bool operator==(const ShapeChoice &) const = default;
};

/// What the user asks the estimator. `request` holds every number; its shapes are filled in when they are
/// read, and its devices are the chosen cards. Target ThisProgram stands for "this machine": its memory is
/// measured where the work is done.
struct EstimatorInputs
{
    ShapeChoice model{ShapeOrigin::Loaded, {}};
    ShapeChoice draft;
    EstimateRequest request;

    EstimatorInputs();
};

/// Bounds of what can be typed.
inline constexpr int mostContextTokens = 1 << 30;
inline constexpr int mostBatch = 1 << 20;

/// Remembers the inputs between starts, below "estimator/".
void saveInputs(QSettings &settings, const EstimatorInputs &inputs);
/// What was saved, as far as it is sensible. Cards are looked up in `catalogue`; names that it does not know
/// come back in `missing`.
EstimatorInputs restoreInputs(const QSettings &settings, const GpuCatalogue &catalogue, QStringList &missing);

} // namespace tokenloupe
