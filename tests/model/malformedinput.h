// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/ggufwriter.h"
#include "tests/support/tinymodel.h"

#include <string>

namespace tokenloupe::test {

/// Everything that reading a model may ask for, in bytes, as a multiple of the file: strings and map nodes
/// are larger than what they come from, by a bounded factor. A number that the file merely claims goes far
/// beyond.
std::size_t allowedBytes(std::size_t fileBytes);

/// A whole model with every optional part, of a few kilobytes.
TinyModelOptions smallModel();
/// A container of one key and two F32 tensors of 32 bytes, "first" and "second".
GgufWriter twoTensors();

/// A message that can be shown as it is: one line, no control characters, not endless.
bool isOneCleanLine(const std::string &text);

} // namespace tokenloupe::test
