// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe {

extern const char *const builtInShapeData; ///< the text of resources/shapes.json

} // namespace tokenloupe
