// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

namespace tokenloupe {

/// Of a model that came without a tokenizer: its ids can be run, but text cannot be split, and what ids stand
/// for is not known.
class IdTokenizer final : public Tokenizer
{
public:
    explicit IdTokenizer(std::shared_ptr<const VocabularyData> data);

    Result<std::vector<EncodedToken>> encode(std::string_view text,
                                             const EncodeOptions &options) const override;
};

} // namespace tokenloupe
