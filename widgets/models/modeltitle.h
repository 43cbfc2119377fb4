// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

#include <QString>

namespace tokenloupe {

/// What a model is called in the window: its file's name without ending and without the weight type
/// ("…-Q4_1"). The name inside the file is often that of a training run.
QString modelTitle(const Model &model);
QString modelTitle(const QString &fileName);

} // namespace tokenloupe
