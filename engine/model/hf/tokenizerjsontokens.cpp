// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/model/hf/tokenizerjsonreader.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

using nlohmann::json;

namespace {

constexpr std::uint64_t mostTokens = 1U << 24;
/// Ids may have gaps, but a handful of tokens must not ask for millions of rows.
constexpr std::uint64_t gapsAllowed = 1U << 16;

bool isByteText(std::string_view text)
{
    return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">") &&
           bytesOfHex(text.substr(3, 2));
}

} // namespace

Status TokenizerJsonReader::makeRoom(const json &added)
{
    const std::size_t count = m_lists->tokens().size();
    if (count == 0)
        return bad("field \"model.vocab\": expected at least one token, found none");
    if (!added.is_null() && !added.is_array())
        return bad("field \"added_tokens\": expected a list");
    std::uint64_t largest = 0;
    for (const auto &token : m_lists->tokens())
        largest = std::max(largest, token.id);
    for (const json &token : added)
        largest = std::max(largest, unsignedOf(member(token, "id")).value_or(0));
    const std::uint64_t allowed =
        std::min<std::uint64_t>(mostTokens, 2 * (count + added.size()) + gapsAllowed);
    if (largest >= allowed)
        return bad("token ids up to " + std::to_string(largest) + " for " +
                   std::to_string(count + added.size()) + " tokens: expected ids below " +
                   std::to_string(allowed));
    m_data.texts.resize(largest + 1);
    m_data.kinds.resize(largest + 1, TokenKind::Unused);
    if (m_lists->hasScores())
        m_data.scores.resize(largest + 1, 0.0F);
    return {};
}

Status TokenizerJsonReader::readTokens()
{
    m_ids.reserve(m_data.texts.size());
    std::size_t doubles = 0;
    std::size_t notNumbers = 0;
    for (auto &token : m_lists->tokens()) {
        if (m_data.kinds[token.id] != TokenKind::Unused)
            return bad("field \"model.vocab\": " + quotedForMessage(m_data.texts[token.id]) + " and " +
                       quotedForMessage(token.text) + " have the same id " + std::to_string(token.id));
        m_data.texts[token.id] = std::move(token.text);
        m_data.kinds[token.id] = TokenKind::Normal;
        const auto [place, isNew] =
            m_ids.try_emplace(m_data.texts[token.id], static_cast<std::uint32_t>(token.id));
        if (!isNew) { // of equal texts the last counts
            m_data.kinds[place->second] = TokenKind::Unused;
            place->second = static_cast<std::uint32_t>(token.id);
            ++doubles;
        }
        if (!m_lists->hasScores())
            continue;
        notNumbers += std::isfinite(token.score) ? 0 : 1;
        m_data.scores[token.id] = std::isfinite(token.score) ? static_cast<float>(token.score) : -1e30F;
    }
    if (doubles > 0)
        warn("field \"model.vocab\": " + std::to_string(doubles) +
             " texts come more than once; their last id counts");
    if (notNumbers > 0)
        warn("field \"model.vocab\": " + std::to_string(notNumbers) +
             " scores are no numbers and count as the lowest");
    return {};
}

Status TokenizerJsonReader::readAddedTokens(const json &list)
{
    for (const json &token : list) {
        if (const Status status = readAddedToken(token); !status)
            return status;
    }
    return {};
}

Status TokenizerJsonReader::readAddedToken(const json &token)
{
    const json &content = member(token, "content");
    const auto given = unsignedOf(member(token, "id"));
    if (!content.is_string() || !given)
        return bad("field \"added_tokens\": an object with \"id\" and \"content\" is expected, found " +
                   quotedForMessage(token.dump(-1, ' ', false, json::error_handler_t::replace)));
    const auto &text = content.get_ref<const std::string &>();
    if (text.empty())
        return {};
    auto id = static_cast<std::uint32_t>(*given);
    if (const auto known = m_ids.find(text); known != m_ids.end()) {
        if (known->second != id)
            warn("field \"added_tokens\": " + quotedForMessage(text) + " has the id " + std::to_string(id) +
                 ", in the vocabulary " + std::to_string(known->second) + ", which counts");
        id = known->second;
    } else if (m_data.kinds[id] != TokenKind::Unused || !m_data.texts[id].empty()) {
        return bad("field \"added_tokens\": " + quotedForMessage(text) + " has the id " + std::to_string(id) +
                   " of " + quotedForMessage(m_data.texts[id]));
    } else {
        m_data.texts[id] = text;
        m_ids.emplace(m_data.texts[id], id);
    }
    AddedToken added;
    added.id = TokenId(id);
    added.special = flagMember(token, "special").value_or(false);
    added.normalized = flagMember(token, "normalized").value_or(!added.special);
    added.leftStrip = flagMember(token, "lstrip").value_or(false);
    added.rightStrip = flagMember(token, "rstrip").value_or(false);
    added.singleWord = flagMember(token, "single_word").value_or(false);
    m_data.kinds[id] = added.special ? TokenKind::Control : TokenKind::UserDefined;
    m_pipeline.added.push_back(added);
    return {};
}

Status TokenizerJsonReader::readMerges()
{
    const std::string_view all = m_lists->mergeText();
    m_pipeline.merges.reserve(m_lists->merges().size());
    for (const TokenizerJsonEvents::Merge &merge : m_lists->merges()) {
        TokenMerge ids;
        const std::array<std::pair<std::string_view, std::uint32_t *>, 3> parts{{
            {all.substr(merge.begin, merge.middle - merge.begin), &ids.left},
            {all.substr(merge.middle, merge.end - merge.middle), &ids.right},
            {all.substr(merge.begin, merge.end - merge.begin), &ids.result},
        }};
        for (const auto &[text, id] : parts) {
            const auto found = m_ids.find(text);
            if (found == m_ids.end())
                return bad("field \"model.merges\": entry " + std::to_string(m_pipeline.merges.size()) +
                           " needs " + quotedForMessage(text) + ", which is no token of the vocabulary");
            *id = found->second;
        }
        m_pipeline.merges.push_back(ids);
    }
    return {};
}

void TokenizerJsonReader::markBytes()
{
    if (!m_pipeline.byteFallback)
        return;
    for (std::size_t i = 0; i < m_data.texts.size(); ++i) {
        if (m_data.kinds[i] == TokenKind::Normal && isByteText(m_data.texts[i]))
            m_data.kinds[i] = TokenKind::Byte;
    }
}

void TokenizerJsonReader::warnOfHoles()
{
    const auto holes = std::count_if(m_data.texts.begin(), m_data.texts.end(),
                                     [](const std::string &text) { return text.empty(); });
    if (holes > 0)
        warn(std::to_string(holes) + " ids below " + std::to_string(m_data.texts.size()) + " have no token");
}

} // namespace tokenloupe
