// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/tokenizerjsonevents.h"

#include "engine/base/utf8.h"

#include <limits>

namespace tokenloupe {

using nlohmann::json;

bool TokenizerJsonEvents::fail(std::string fault)
{
    m_fault = std::move(fault);
    return false;
}

bool TokenizerJsonEvents::put(json value)
{
    switch (m_part) {
    case Part::Tree:
        m_tree.value(std::move(value));
        return true;
    case Part::VocabObject:
        return fail("field \"model.vocab\": the id of " + quotedForMessage(m_key) +
                    " is not an unsigned integer");
    case Part::VocabList:
        return fail("field \"model.vocab\": pairs of a text and a score are expected");
    case Part::Merges:
        return fail("field \"model.merges\": texts or pairs of texts are expected");
    }
    return false;
}

bool TokenizerJsonEvents::number_unsigned(number_unsigned_t value)
{
    if (m_part == Part::VocabList)
        return number(static_cast<double>(value));
    if (m_part != Part::VocabObject || m_level != 1)
        return put(value);
    if (m_tokens.size() == mostEntries)
        return fail("field \"model.vocab\" has more than " + std::to_string(mostEntries) + " entries");
    m_tokens.push_back({std::move(m_key), value});
    return true;
}

bool TokenizerJsonEvents::number_integer(number_integer_t value)
{
    return m_part == Part::VocabList ? number(static_cast<double>(value)) : put(value);
}

bool TokenizerJsonEvents::number_float(number_float_t value, const string_t &)
{
    return m_part == Part::VocabList ? number(value) : put(value);
}

bool TokenizerJsonEvents::number(double value)
{
    if (m_level != 2)
        return put(value);
    m_score = value;
    ++m_scores;
    return true;
}

bool TokenizerJsonEvents::string(string_t &value)
{
    if (m_part == Part::Merges && m_level == 1)
        return addMerge(value);
    if ((m_part == Part::Merges || m_part == Part::VocabList) && m_level == 2 && m_pair.size() < 3) {
        m_pair.push_back(std::move(value));
        return true;
    }
    return put(std::move(value));
}

bool TokenizerJsonEvents::addMerge(std::string_view line)
{
    const std::size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 >= line.size())
        return fail("merge " + std::to_string(m_merges.size()) + " is " + quotedForMessage(line) +
                    ", expected two texts with a space between them");
    return addMerge(line.substr(0, space), line.substr(space + 1));
}

bool TokenizerJsonEvents::addMerge(std::string_view left, std::string_view right)
{
    if (m_merges.size() == mostEntries)
        return fail("field \"model.merges\" has more than " + std::to_string(mostEntries) + " entries");
    if (left.size() + right.size() > std::numeric_limits<std::uint32_t>::max() - m_mergeText.size())
        return fail("field \"model.merges\" has more than 4 GiB of text");
    const auto begin = static_cast<std::uint32_t>(m_mergeText.size());
    m_mergeText.append(left).append(right);
    m_merges.push_back({begin, begin + static_cast<std::uint32_t>(left.size()),
                        static_cast<std::uint32_t>(m_mergeText.size())});
    return true;
}

bool TokenizerJsonEvents::beginList(Part part)
{
    m_part = part;
    m_level = 1;
    if (part == Part::Merges) {
        m_merges.clear();
        m_mergeText.clear();
    } else {
        m_tokens.clear();
        m_scored = part == Part::VocabList;
    }
    return true;
}

bool TokenizerJsonEvents::start_object(std::size_t)
{
    if (m_part != Part::Tree)
        return put(json::object());
    if (m_content == Content::VocabOnly && m_tree.depth() == 0)
        return beginList(Part::VocabObject);
    if (m_path.size() == 2 && m_path[1] == "model" && m_key == "vocab" && m_tree.depth() == 2)
        return beginList(Part::VocabObject);
    if (m_tree.depth() < 2)
        m_path.push_back(m_key);
    return m_tree.open(json::object()) || fail("is nested too deeply");
}

bool TokenizerJsonEvents::start_array(std::size_t)
{
    if (m_part == Part::Merges || m_part == Part::VocabList) {
        if (m_level != 1)
            return put(json::array());
        ++m_level;
        m_pair.clear();
        m_scores = 0;
        return true;
    }
    if (m_part != Part::Tree)
        return put(json::array());
    if (m_path.size() == 2 && m_path[1] == "model" && m_tree.depth() == 2) {
        if (m_key == "vocab")
            return beginList(Part::VocabList);
        if (m_key == "merges")
            return beginList(Part::Merges);
    }
    if (m_tree.depth() < 2)
        m_path.push_back(m_key);
    return m_tree.open(json::array()) || fail("is nested too deeply");
}

bool TokenizerJsonEvents::key(string_t &key)
{
    m_key = std::move(key);
    if (m_part == Part::Tree)
        m_tree.key(m_key);
    return true;
}

bool TokenizerJsonEvents::close()
{
    if (m_part == Part::Tree) {
        m_tree.close();
        if (m_tree.depth() < 2)
            m_path.pop_back();
        return true;
    }
    if (--m_level == 0) {
        m_part = Part::Tree;
        return true;
    }
    if (m_part == Part::Merges) {
        if (m_pair.size() != 2 || m_pair[0].empty() || m_pair[1].empty())
            return fail("field \"model.merges\": entry " + std::to_string(m_merges.size()) +
                        " is no pair of texts");
        return addMerge(m_pair[0], m_pair[1]);
    }
    if (m_pair.size() != 1 || m_scores != 1)
        return fail("field \"model.vocab\": entry " + std::to_string(m_tokens.size()) +
                    " is no pair of a text and a score");
    if (m_tokens.size() == mostEntries)
        return fail("field \"model.vocab\" has more than " + std::to_string(mostEntries) + " entries");
    m_tokens.push_back({std::move(m_pair[0]), m_tokens.size(), m_score});
    return true;
}

bool TokenizerJsonEvents::parse_error(std::size_t, const std::string &,
                                      const nlohmann::detail::exception &error)
{
    return fail(std::string("is not valid JSON: ") + error.what());
}

} // namespace tokenloupe
