// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/tokenizer/wordcache.h"
#include "engine/tokenizer/wordmerger.h"

#include <memory>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// What turns the words of a vocabulary into tokens. Immutable; may be used from any thread.
class WordModel
{
public:
    /// For one thread, with working memory of its own. The model must outlive it.
    class Encoder
    {
    public:
        virtual ~Encoder() = default;
        /// Appends tokens whose lengths sum up to the word's. `applied` gets merges (of token ids) in order,
        /// when given.
        virtual Status encode(std::string_view word, std::vector<WordToken> &tokens,
                              std::vector<WordMerger::Applied> *applied) = 0;
    };

    virtual ~WordModel() = default;
    virtual std::unique_ptr<Encoder> encoder() const = 0;
};

} // namespace tokenloupe
