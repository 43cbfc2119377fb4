// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

#include <QPointF>
#include <QString>
#include <memory>
#include <vector>

namespace tokenloupe {

/// Memory over one setting, everything else as asked.
struct EstimateCurve
{
    std::vector<QPointF> points; ///< (setting, bytes), rising
    double current = 0.0;        ///< the setting as asked
    double currentBytes = 0.0;
    double crossing = 0.0; ///< largest setting that fits; 0: none does
};

/// Everything that the estimator shows for one set of inputs; an immutable value that replaces the one
/// before.
struct EstimatorResult
{
    EstimateRequest request;          ///< with shapes and devices filled in
    std::optional<Estimate> estimate; ///< nothing: see error, or there is no model yet
    QString error;
    EstimateCurve byContext, byBatch;
    FitTable fits;
    QString fitsError; ///< why there is no table
    std::vector<AttentionVariant> attention;
};

using EstimatorResultPtr = std::shared_ptr<const EstimatorResult>;

/// Computes all of it. Any thread; the first call for "this machine" measures it, a fraction of a second.
EstimatorResultPtr computeEstimate(EstimateRequest request);

} // namespace tokenloupe
