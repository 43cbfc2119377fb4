// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/textpipeline.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// resources/unicodeforms.txt.
extern const char *const unicodeFormsData;

/// Unicode's normalisation forms. Immutable; may be used from any thread.
class UnicodeForms
{
public:
    static const UnicodeForms &instance();

    /// What a text in a form consists of, in order: bytes [begin, end) that are as they were, and new ones
    /// that stand where `begin` is.
    struct Sink
    {
        std::function<void(std::size_t begin, std::size_t end)> keep;
        std::function<void(std::string_view bytes, std::size_t begin)> put;
    };
    /// `text` is UTF-8.
    void convert(UnicodeForm form, std::string_view text, const Sink &sink) const;
    std::string converted(UnicodeForm form, std::string_view text) const;
    /// False: perhaps, or not. Quick.
    static bool isSurelyIn(UnicodeForm form, std::string_view text);

private:
    struct Decomposition
    {
        std::uint32_t begin = 0, count = 0; // in m_characters
        bool isCompatible = false;          // not canonical
    };

    UnicodeForms();
    void readClasses(std::string_view line);
    void readDecompositions(std::string_view line);
    void mark(char32_t character);

    bool isMarked(char32_t character) const { return character < m_marked.size() && m_marked[character]; }
    std::uint8_t classOf(char32_t character) const;
    /// Appends the full decomposition.
    void decompose(UnicodeForm form, char32_t character, std::u32string &out) const;
    bool beginsSegment(UnicodeForm form, char32_t character) const;
    void order(std::u32string &text) const;
    void compose(std::u32string &text) const;
    char32_t composed(char32_t first, char32_t second) const;

    std::unordered_map<char32_t, std::uint8_t> m_classes; // other than 0
    std::unordered_map<char32_t, Decomposition> m_decompositions;
    std::u32string m_characters;
    std::unordered_map<std::uint64_t, char32_t> m_compositions; // first << 32 | second
    std::vector<bool> m_seconds;                                // may be composed with what is before it
    std::vector<bool> m_marked; // by character: may change in some form, or change what is before it
};

} // namespace tokenloupe
