// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

#include <cstdint>
#include <string>

namespace tokenloupe {

enum class VocabularyKind : std::uint8_t { ByteBpe, SentencePiece };

/// What the memory of a vocabulary and its tokenizer depends on. All zero: there is none.
struct VocabularyFacts
{
    VocabularyKind kind = VocabularyKind::ByteBpe;
    std::uint64_t tokens = 0;
    std::uint64_t merges = 0;
    std::uint64_t scores = 0;        ///< tokens that have one
    std::uint64_t textBytes = 0;     ///< Σ lengths of the tokens' texts
    std::uint64_t longTextBytes = 0; ///< heap blocks of texts that do not fit a string object itself
    std::uint64_t mergeBytes = 0;    ///< Σ lengths of the merges
    std::uint64_t headerBytes = 0;   ///< of the model file before its tensors: read, so its pages stay mapped
    std::uint64_t templateBytes = 0; ///< source of the chat template
};

VocabularyFacts vocabularyFacts(const VocabularyData &data, std::uint64_t headerBytes,
                                std::uint64_t templateBytes);
VocabularyFacts vocabularyFacts(const Model &model);
/// For shapes without a file: a byte-level BPE vocabulary of that size with texts of usual length.
VocabularyFacts typicalVocabulary(std::uint64_t tokens);

/// What the file says, the bytes of each token, tables of merges and pieces, the file's header, the parsed
/// chat template. `how` gets the arithmetic.
std::uint64_t vocabularyBytes(const VocabularyFacts &facts, std::string *how = nullptr);

} // namespace tokenloupe
