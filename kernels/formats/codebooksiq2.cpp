// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/codebookcodesiq2.h"
#include "kernels/formats/codebookexpand.h"

namespace tokenloupe {

const Codebook<std::uint64_t, 256> iq2xxsCodebook =
    expandedCodebook<std::uint64_t, 2>(iq2xxsCodes.codes, iq2Levels);
const Codebook<std::uint64_t, 512> iq2xsCodebook =
    expandedCodebook<std::uint64_t, 2>(iq2xsCodes.codes, iq2Levels);
const Codebook<std::uint64_t, 1024> iq2sCodebook =
    expandedCodebook<std::uint64_t, 2>(iq2sCodes.codes, iq2Levels);

} // namespace tokenloupe
