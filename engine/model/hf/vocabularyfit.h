// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tokenloupe {

/// Makes a vocabulary as large as the model's embedding. Models may have more rows than there are tokens:
/// these are unused. Tokens that the embedding has no row for (of pictures, say) go: nothing can be encoded
/// as one of them, and `warnings`, which may be null, says how many they were.
void fitVocabulary(VocabularyData &data, std::uint32_t count, std::vector<std::string> *warnings);

} // namespace tokenloupe
