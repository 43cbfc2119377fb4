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
constexpr std::uint64_t endBytes = 8;     ///< where a text of a list ends
constexpr std::uint64_t mergeSlotBytes = 16;
constexpr std::uint64_t indexSlotBytes = 8;     ///< of the table from text to token
constexpr std::uint64_t treePerSourceByte = 40; ///< a parsed template's nodes for each byte of source

std::uint64_t heapBytes(std::uint64_t characters)
{
    if (characters <= inlineText)
        return 0;
    return std::max<std::uint64_t>(32, (characters + 1 + heapHeader + 15) / 16 * 16);
}

/// Hash tables have a power of two of them.
std::uint64_t tableSlots(std::uint64_t least)
{
    return std::max<std::uint64_t>(16, std::bit_ceil(least));
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
    for (const std::string &token : data.texts) {
        facts.textBytes += token.size();
        facts.longTextBytes += heapBytes(token.size());
    }
    facts.mergeBytes = data.merges.textBytes();
    facts.headerBytes = headerBytes;
    facts.templateBytes = templateBytes;
    return facts;
}

VocabularyFacts vocabularyFacts(const Model &model)
{
    return vocabularyFacts(model.vocabulary(), model.container().headerBytes(), model.chatTemplate().size());
}

VocabularyFacts typicalVocabulary(std::uint64_t tokens)
{
    VocabularyFacts facts;
    facts.tokens = std::min<std::uint64_t>(tokens, std::uint64_t(1) << 40);
    facts.merges = facts.tokens;
    facts.textBytes = 7 * facts.tokens;
    facts.longTextBytes = facts.tokens;
    facts.mergeBytes = 8 * facts.merges;
    // Lengths of 8 bytes before each text and merge, a type of 4 bytes for each token.
    facts.headerBytes = facts.tokens * (8 + 7 + 4) + facts.merges * (8 + 8);
    return facts;
}

std::uint64_t vocabularyBytes(const VocabularyFacts &facts, std::string *how)
{
    if (facts.tokens == 0)
        return 0;
    const CheckedSize texts = CheckedSize(facts.tokens) * stringBytes + CheckedSize(facts.longTextBytes);
    const CheckedSize merges = CheckedSize(facts.merges) * endBytes + CheckedSize(facts.mergeBytes);
    const CheckedSize kindsAndScores = CheckedSize(facts.tokens) + CheckedSize(facts.scores) * sizeof(float);
    const CheckedSize bytes = CheckedSize(facts.tokens) * endBytes + CheckedSize(facts.textBytes);
    const std::uint64_t indexSlots = tableSlots(std::min(facts.tokens, CheckedSize::limit / 4) * 3 / 2);
    CheckedSize sum = texts + merges + kindsAndScores + bytes + CheckedSize(indexSlots) * indexSlotBytes;
    std::string search;
    if (facts.kind == VocabularyKind::ByteBpe) {
        const std::uint64_t slots = tableSlots(std::min(facts.merges, CheckedSize::limit / 4) * 2);
        sum += CheckedSize(slots) * mergeSlotBytes;
        search = text(slots) + " slots of the merge table × " + text(mergeSlotBytes) + " + ";
    }
    search += text(indexSlots) + " slots of the table of texts × " + text(indexSlotBytes);
    sum += CheckedSize(facts.headerBytes) + CheckedSize(facts.templateBytes) * treePerSourceByte;
    if (how) {
        *how = text(facts.tokens) + " texts × " + text(stringBytes) + " bytes + " +
               text(facts.longTextBytes) + " for long ones + " + text(facts.merges) + " merges × " +
               text(endBytes) + " + " + text(facts.mergeBytes) + " + " + text(kindsAndScores.value()) +
               " kinds and scores + bytes of " + text(facts.tokens) + " tokens " + text(bytes.value()) +
               " + " + search + " + header of the file " + text(facts.headerBytes);
        if (facts.templateBytes > 0)
            *how += " + chat template " + text(facts.templateBytes) + " × " + text(treePerSourceByte);
    }
    return sum.value();
}

} // namespace tokenloupe
