// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/precision.h"
#include "engine/model/model.h"

#include <QString>

namespace tokenloupe {

QString precisionTitle(Precision precision); ///< "exact", "fast"
/// What a precision does, in a sentence.
QString precisionSummary(Precision precision);
/// Which types of this model's weights are multiplied in integers and which by the exact kernels:
/// "integers: Q4_1 62.1 MiB, Q8_0 28.1 MiB · exact kernels: F16 3.10 MiB".
QString weightKernelsText(const Model &model, Precision precision);

} // namespace tokenloupe
