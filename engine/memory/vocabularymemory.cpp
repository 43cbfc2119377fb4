// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/vocabularymemory.h"

#include "engine/base/checkedmath.h"

#include <algorithm>
#include <bit>

namespace tokenloupe {

namespace {

constexpr std::uint64_t inlineText = 15;  ///< characters that a string object itself holds
constexpr std::uint64_t heapHeader = 8;   ///< of the allocator, blocks are multiples of 16
constexpr std::uint64_t stringBytes = 32; ///< of a string object
constexpr std::uint64_t mergeSlotBytes = 16;
/// While merges are read, a table from text to token is there; the heap keeps its entries' room.
constexpr std::uint64_t entryBytes = 48;
/// SentencePiece: the serialised pieces, the same parsed (an object of some 60 bytes and a text each), a map
/// from text to id and the trie. Measured with vocabularies of 32 000 and 262 000 pieces.
constexpr std::uint64_t pieceBytes = 200;
constexpr std::uint64_t treePerSourceByte = 40; ///< a parsed template's nodes for each byte of source

std::uint64_t heapBytes(std::uint64_t characters)
{
    if (characters <= inlineText)
        return 0;
    return std::max<std::uint64_t>(32, (characters + 1 + heapHeader + 15) / 16 * 16);
}

std::uint64_t heapBytes(const std::vector<std::string> &texts)
{
    std::uint64_t sum = 0;
    for (const std::string &text : texts)
        sum += heapBytes(text.size());
    return sum;
}

std::string text(std::uint64_t number)
{
    return std::to_string(number);
}

} // namespace

VocabularyFacts vocabularyFacts(const VocabularyData &data, std::uint64_t headerBytes,
                                std::uint64_t templateBytes)
{
    VocabularyFacts facts;
    facts.kind =
        data.model == "llama" && !data.pipeline ? VocabularyKind::SentencePiece : VocabularyKind::ByteBpe;
    facts.tokens = data.texts.size();
    facts.merges = data.merges.size();
    facts.scores = data.scores.size();
    for (const std::string &token : data.texts)
        facts.textBytes += token.size();
    facts.longTextBytes = heapBytes(data.texts);
    facts.longMergeBytes = heapBytes(data.merges);
    facts.headerBytes = headerBytes;
    facts.templateBytes = templateBytes;
    return facts;
}

VocabularyFacts vocabularyFacts(const Model &model)
{
    return vocabularyFacts(model.vocabulary(), model.file().dataOffset(), model.chatTemplate().size());
}

VocabularyFacts typicalVocabulary(std::uint64_t tokens)
{
    VocabularyFacts facts;
    facts.tokens = std::min<std::uint64_t>(tokens, std::uint64_t(1) << 40);
    facts.merges = facts.tokens;
    facts.textBytes = 7 * facts.tokens;
    facts.longTextBytes = facts.tokens;
    facts.longMergeBytes = facts.tokens;
    // Lengths of 8 bytes before each text and merge, a type of 4 bytes for each token.
    facts.headerBytes = facts.tokens * (8 + 7 + 4) + facts.merges * (8 + 8);
    return facts;
}

std::uint64_t vocabularyBytes(const VocabularyFacts &facts, std::string *how)
{
    if (facts.tokens == 0)
        return 0;
    const CheckedSize texts = CheckedSize(facts.tokens) * stringBytes + CheckedSize(facts.longTextBytes);
    const CheckedSize merges = CheckedSize(facts.merges) * stringBytes + CheckedSize(facts.longMergeBytes);
    const CheckedSize kindsAndScores = CheckedSize(facts.tokens) + CheckedSize(facts.scores) * sizeof(float);
    // The model keeps what the file says, the tokenizer a copy and each token's bytes.
    CheckedSize sum = (texts + merges + kindsAndScores) * 2 + texts;
    std::string search;
    if (facts.kind == VocabularyKind::ByteBpe) {
        const std::uint64_t slots =
            std::max<std::uint64_t>(16, std::bit_ceil(std::min(facts.merges, CheckedSize::limit / 4) * 2));
        sum += CheckedSize(slots) * mergeSlotBytes + CheckedSize(facts.tokens) * entryBytes;
        search = text(slots) + " slots of the merge table × " + text(mergeSlotBytes) + " + " +
                 text(facts.tokens) + " entries × " + text(entryBytes) + " that reading it left on the heap";
    } else {
        const CheckedSize pieces = CheckedSize(facts.tokens) * pieceBytes + CheckedSize(facts.textBytes) * 2;
        sum += pieces;
        search = text(facts.tokens) + " pieces × " + text(pieceBytes) +
                 " in the SentencePiece library + their texts twice";
    }
    sum += CheckedSize(facts.headerBytes) + CheckedSize(facts.templateBytes) * treePerSourceByte;
    if (how) {
        *how = "2 copies × (" + text(facts.tokens) + " texts and " + text(facts.merges) + " merges × " +
               text(stringBytes) + " bytes + " + text(facts.longTextBytes + facts.longMergeBytes) +
               " for long ones + " + text(kindsAndScores.value()) + " kinds and scores) + bytes of " +
               text(facts.tokens) + " tokens " + text(texts.value()) + " + " + search +
               " + header of the file " + text(facts.headerBytes);
        if (facts.templateBytes > 0)
            *how += " + chat template " + text(facts.templateBytes) + " × " + text(treePerSourceByte);
    }
    return sum.value();
}

} // namespace tokenloupe
