// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/codebookcodesiq1.h"
#include "kernels/formats/codebookexpand.h"

namespace tokenloupe {

const Codebook<std::uint64_t, 2048> iq1Codebook =
    expandedCodebook<std::uint64_t, 2>(iq1Codes.codes, iq1Levels);

} // namespace tokenloupe
