// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <string>
#include <vector>

namespace tokenloupe {

/// A prompt as the model gets it.
struct PromptTokens
{
    std::string text;                 ///< what was tokenised, control tokens included
    std::vector<EncodedToken> tokens; ///< ranges in `text`

    std::vector<TokenId> ids() const
    {
        std::vector<TokenId> result;
        result.reserve(tokens.size());
        for (const EncodedToken &token : tokens)
            result.push_back(token.id);
        return result;
    }
};

} // namespace tokenloupe
