// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/jsontree.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tokenloupe {

/// A tokenizer.json as the parser reads it. The two long lists, `model.vocab` and `model.merges`, go into
/// plain lists; all else becomes a tree.
class TokenizerJsonEvents final : public nlohmann::json_sax<nlohmann::json>
{
public:
    struct Token
    {
        std::string text;
        std::uint64_t id = 0;
        double score = 0; ///< Unigram
    };
    /// The texts of a merge are [begin, middle) and [middle, end) of mergeText().
    struct Merge
    {
        std::uint32_t begin = 0, middle = 0, end = 0;
    };

    enum class Content { Whole, VocabOnly };
    /// VocabOnly: of a vocab.json, which is what `model.vocab` is in the other.
    explicit TokenizerJsonEvents(Content content = Content::Whole)
        : m_content(content)
    {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override;
    bool number_unsigned(number_unsigned_t value) override;
    bool number_float(number_float_t value, const string_t &) override;
    bool string(string_t &value) override;
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override;
    bool key(string_t &key) override;
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override;
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &error) override;

    nlohmann::json takeTree() { return m_tree.take(); }
    std::vector<Token> &tokens() { return m_tokens; }
    const std::vector<Merge> &merges() const { return m_merges; }
    /// One more merge, as a file of merges has it: two texts with a space between them.
    bool addMerge(std::string_view line);
    const std::string &mergeText() const { return m_mergeText; }
    const std::string &fault() const { return m_fault; }
    /// Whether `model.vocab` was a list of pairs (Unigram), not an object.
    bool hasScores() const { return m_scored; }

private:
    enum class Part { Tree, VocabObject, VocabList, Merges };
    static constexpr std::size_t mostEntries = std::size_t(1) << 24;

    bool put(nlohmann::json value);
    bool close();
    bool fail(std::string fault);
    bool number(double value);
    bool beginList(Part part);
    bool addMerge(std::string_view left, std::string_view right);

    Content m_content;
    JsonTree m_tree;
    Part m_part = Part::Tree;
    std::size_t m_level = 0;         // containers open inside of the part
    std::vector<std::string> m_path; // keys of the open containers: the root (no key) and one below
    std::string m_key;
    std::vector<std::string> m_pair; // texts of the merge or token that is being read
    std::vector<Token> m_tokens;
    std::vector<Merge> m_merges;
    std::string m_mergeText;
    std::string m_fault;
    double m_score = 0;
    std::size_t m_scores = 0; // numbers of the pair that is being read
    bool m_scored = false;
};

} // namespace tokenloupe
