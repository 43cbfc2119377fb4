// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/base/textlist.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe {

struct TextPipeline;

enum class TokenKind : std::uint8_t { Normal, Unknown, Control, UserDefined, Unused, Byte };

/// VocabularyData::model of a model without tokenizer: its tokens have ids, but no texts.
inline constexpr const char *noTokenizerModel = "none";

/// A vocabulary as the file states it (texts are the file's own: byte-level alphabet or U+2581 for a space).
/// Lists may be shorter than `texts` in broken files; the reader has padded them and left a warning.
struct VocabularyData
{
    std::string model; ///< "gpt2" (byte-level BPE), "llama" (SentencePiece), …
    std::string pre;   ///< pre-tokenizer: "smollm", "gpt-2", "default", …
    std::vector<std::string> texts;
    std::vector<float> scores;    ///< empty or texts.size()
    std::vector<TokenKind> kinds; ///< texts.size()
    TextList merges;              ///< "left right", best first
    std::optional<TokenId> bos, eos, eot, unknown, padding;
    bool addBos = false;
    bool addEos = false;
    bool addSpacePrefix = true;
    bool removeExtraWhitespaces = false;
    std::vector<TokenId> endOfTurn; ///< more tokens that end a turn, besides eos and eot
    /// Of a Hugging Face vocabulary: how text becomes tokens. It then stands for `pre`, `merges` and the
    /// flags.
    std::shared_ptr<const TextPipeline> pipeline;
};

} // namespace tokenloupe
