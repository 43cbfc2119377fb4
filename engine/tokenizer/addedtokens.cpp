// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/addedtokens.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/whitespace.h"

#include <algorithm>

namespace tokenloupe {

void AddedTokens::add(const AddedToken &token, std::string_view text)
{
    if (text.empty())
        return;
    m_matcher.add(text, token.id, SpecialMatcher::When::Always);
    m_tokens.emplace(token.id, token);
}

Status AddedTokens::build()
{
    m_matcher.build();
    const bool words = std::any_of(m_tokens.begin(), m_tokens.end(),
                                   [](const auto &entry) { return entry.second.singleWord; });
    if (!words)
        return {};
    auto finder = TextFinder::create(
        {TextPattern::Kind::Regex, "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]"});
    if (!finder)
        return tl::unexpected(finder.error());
    m_word = std::move(*finder);
    return {};
}

bool AddedTokens::isInWord(std::string_view text, ByteRange range, const TextFinder::Scratch &scratch) const
{
    const auto isLetter = [&](std::string_view character) {
        const auto found = isValidUtf8(character) ? m_word->find(character, 0, scratch)
                                                  : Result<std::optional<TextFinder::Match>>();
        return found && *found;
    };
    const std::string_view before = text.substr(0, range.begin);
    if (!before.empty() && isLetter(before.substr(lastCharacter(before))))
        return true;
    return range.end < text.size() && isLetter(text.substr(range.end, decodeUtf8(text, range.end).length));
}

std::vector<SpecialMatch> AddedTokens::find(std::string_view text, const MayParse &mayParse,
                                            const TextFinder::Scratch &scratch) const
{
    std::vector<SpecialMatch> matches;
    if (m_tokens.empty())
        return matches;
    std::uint32_t done = 0;
    for (SpecialMatch match : m_matcher.findLeftmost(text)) {
        const AddedToken &token = m_tokens.at(match.id);
        if (token.special && (!mayParse || !mayParse(match.range)))
            continue;
        if (token.singleWord && isInWord(text, match.range, scratch))
            continue;
        if (match.range.begin < done) // within white space that the one before took
            continue;
        if (token.leftStrip)
            match.range.begin -=
                static_cast<std::uint32_t>(whiteSpaceAtEnd(text.substr(done, match.range.begin - done)));
        if (token.rightStrip)
            match.range.end += static_cast<std::uint32_t>(whiteSpaceAtStart(text.substr(match.range.end)));
        done = match.range.end;
        matches.push_back(match);
    }
    return matches;
}

} // namespace tokenloupe
