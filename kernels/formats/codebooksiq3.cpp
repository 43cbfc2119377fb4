// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/codebookcodesiq3.h"
#include "kernels/formats/codebookexpand.h"

namespace tokenloupe {

const Codebook<std::uint32_t, 256> iq3xxsCodebook =
    expandedCodebook<std::uint32_t, 3>(iq3xxsCodes.codes, iq3xxsLevels);
const Codebook<std::uint32_t, 512> iq3sCodebook =
    expandedCodebook<std::uint32_t, 3>(iq3sCodes.codes, iq3sLevels);

} // namespace tokenloupe
