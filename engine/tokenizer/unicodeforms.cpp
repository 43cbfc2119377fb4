// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/unicodeforms.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <charconv>

namespace tokenloupe {

namespace {

constexpr std::size_t characters = 0x110000;

// Hangul syllables are composed by arithmetic.
namespace hangul {
constexpr char32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, tails = 0x11A7;
constexpr char32_t leadCount = 19, vowelCount = 21, tailCount = 28;
constexpr char32_t syllableCount = leadCount * vowelCount * tailCount;

constexpr bool isSyllable(char32_t c)
{
    return c >= syllables && c < syllables + syllableCount;
}
constexpr bool isLead(char32_t c)
{
    return c >= leads && c < leads + leadCount;
}
constexpr bool isVowel(char32_t c)
{
    return c >= vowels && c < vowels + vowelCount;
}
constexpr bool isTail(char32_t c)
{
    return c > tails && c < tails + tailCount;
}
} // namespace hangul

/// The next word of a line, which loses it.
std::string_view nextWord(std::string_view &line)
{
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

char32_t codeOf(std::string_view text)
{
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return value;
}

bool isComposed(UnicodeForm form)
{
    return form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
}

bool isCompatibility(UnicodeForm form)
{
    return form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd;
}

} // namespace

const UnicodeForms &UnicodeForms::instance()
{
    static const UnicodeForms forms;
    return forms;
}

UnicodeForms::UnicodeForms()
    : m_seconds(characters)
    , m_marked(characters)
{
    std::string_view rest(unicodeFormsData);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line.front() == '#')
            continue;
        if (line.find('-') != std::string_view::npos)
            readClasses(line);
        else
            readDecompositions(line);
    }
    for (char32_t c = hangul::leads; c < hangul::tails + hangul::tailCount; ++c)
        m_marked[c] = true;
    for (char32_t i = 0; i < hangul::syllableCount; ++i)
        m_marked[hangul::syllables + i] = true;
    for (char32_t i = 0; i < hangul::vowelCount; ++i)
        m_seconds[hangul::vowels + i] = true;
    for (char32_t i = 1; i < hangul::tailCount; ++i)
        m_seconds[hangul::tails + i] = true;
}

void UnicodeForms::mark(char32_t character)
{
    if (character < m_marked.size())
        m_marked[character] = true;
}

void UnicodeForms::readClasses(std::string_view line)
{
    unsigned number = 0;
    const std::string_view name = nextWord(line);
    std::from_chars(name.data(), name.data() + name.size(), number);
    while (!line.empty()) {
        const std::string_view range = nextWord(line);
        const std::size_t dash = range.find('-');
        for (char32_t c = codeOf(range.substr(0, dash)); c <= codeOf(range.substr(dash + 1)); ++c) {
            m_classes[c] = static_cast<std::uint8_t>(number);
            mark(c);
        }
    }
}

void UnicodeForms::readDecompositions(std::string_view line)
{
    while (!line.empty()) {
        std::string_view entry = nextWord(line);
        const std::size_t sign = entry.find_first_of("=!~");
        const char32_t character = codeOf(entry.substr(0, sign));
        Decomposition decomposition;
        decomposition.begin = static_cast<std::uint32_t>(m_characters.size());
        decomposition.isCompatible = entry[sign] == '~';
        const bool isComposable = entry[sign] == '=';
        for (entry.remove_prefix(sign + 1); !entry.empty();) {
            const std::size_t end = std::min(entry.find(','), entry.size());
            m_characters += codeOf(entry.substr(0, end));
            ++decomposition.count;
            entry.remove_prefix(std::min(end + 1, entry.size()));
        }
        mark(character);
        m_decompositions[character] = decomposition;
        if (!isComposable || decomposition.count != 2)
            continue;
        const char32_t first = m_characters[decomposition.begin];
        const char32_t second = m_characters[decomposition.begin + 1];
        m_compositions[(static_cast<std::uint64_t>(first) << 32) | second] = character;
        m_seconds[second] = true;
        mark(second);
    }
}

std::uint8_t UnicodeForms::classOf(char32_t character) const
{
    const auto found = m_classes.find(character);
    return found == m_classes.end() ? 0 : found->second;
}

void UnicodeForms::decompose(UnicodeForm form, char32_t character, std::u32string &out) const
{
    if (hangul::isSyllable(character)) {
        const char32_t index = character - hangul::syllables;
        out += hangul::leads + index / (hangul::vowelCount * hangul::tailCount);
        out += hangul::vowels + index / hangul::tailCount % hangul::vowelCount;
        if (index % hangul::tailCount != 0)
            out += hangul::tails + index % hangul::tailCount;
        return;
    }
    const auto found = m_decompositions.find(character);
    if (found == m_decompositions.end() || (found->second.isCompatible && !isCompatibility(form))) {
        out += character;
        return;
    }
    for (std::uint32_t i = 0; i < found->second.count; ++i)
        decompose(form, m_characters[found->second.begin + i], out);
}

bool UnicodeForms::beginsSegment(UnicodeForm form, char32_t character) const
{
    std::u32string first;
    decompose(form, character, first);
    return classOf(first.front()) == 0 && !m_seconds[first.front()];
}

void UnicodeForms::order(std::u32string &text) const
{
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin;
        while (end < text.size() && classOf(text[end]) != 0)
            ++end;
        std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(begin),
                         text.begin() + static_cast<std::ptrdiff_t>(end),
                         [this](char32_t a, char32_t b) { return classOf(a) < classOf(b); });
        begin = end + 1;
    }
}

char32_t UnicodeForms::composed(char32_t first, char32_t second) const
{
    if (hangul::isLead(first) && hangul::isVowel(second))
        return hangul::syllables +
               ((first - hangul::leads) * hangul::vowelCount + second - hangul::vowels) * hangul::tailCount;
    if (hangul::isSyllable(first) && (first - hangul::syllables) % hangul::tailCount == 0 &&
        hangul::isTail(second))
        return first + second - hangul::tails;
    const auto found = m_compositions.find((static_cast<std::uint64_t>(first) << 32) | second);
    return found == m_compositions.end() ? 0 : found->second;
}

void UnicodeForms::compose(std::u32string &text) const
{
    std::size_t size = 0;
    std::size_t starter = text.size(); // none yet
    int last = -1;                     // class of what lies between the starter and here; -1: nothing
    for (const char32_t character : text) {
        const int combining = classOf(character);
        if (starter < size && last < combining) {
            if (const char32_t whole = composed(text[starter], character)) {
                text[starter] = whole;
                continue;
            }
        }
        if (combining == 0) {
            starter = size;
            last = -1;
        } else {
            last = combining;
        }
        text[size++] = character;
    }
    text.resize(size);
}

void UnicodeForms::convert(UnicodeForm form, std::string_view text, const Sink &sink) const
{
    std::size_t kept = 0;    // all before is done
    std::size_t segment = 0; // begins here
    bool mayChange = false;  // the segment
    std::u32string parts;
    std::string bytes;
    const auto finish = [&](std::size_t end) {
        if (!mayChange)
            return;
        parts.clear();
        for (std::size_t i = segment; i < end;) {
            const Utf8Unit unit = decodeUtf8(text, i);
            decompose(form, unit.codePoint, parts);
            i += unit.length;
        }
        order(parts);
        if (isComposed(form))
            compose(parts);
        bytes.clear();
        for (const char32_t character : parts)
            appendUtf8(bytes, character);
        if (bytes == text.substr(segment, end - segment))
            return;
        sink.keep(kept, segment);
        sink.put(bytes, segment);
        kept = end;
    };
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Unit unit = decodeUtf8(text, i);
        const bool marked = isMarked(unit.codePoint);
        if (!marked || beginsSegment(form, unit.codePoint)) {
            finish(i);
            segment = i;
            mayChange = marked;
        } else {
            mayChange = true;
        }
        i += unit.length;
    }
    finish(text.size());
    sink.keep(kept, text.size());
}

std::string UnicodeForms::converted(UnicodeForm form, std::string_view text) const
{
    std::string result;
    convert(form, text,
            {[&](std::size_t begin, std::size_t end) { result += text.substr(begin, end - begin); },
             [&](std::string_view bytes, std::size_t) { result += bytes; }});
    return result;
}

bool UnicodeForms::isSurelyIn(UnicodeForm form, std::string_view text)
{
    // Below U+0300 nothing decomposes for good and nothing combines; below U+0080 nothing does at all.
    const unsigned char limit = form == UnicodeForm::Nfc ? 0xCC : 0x80;
    return std::all_of(text.begin(), text.end(),
                       [limit](char c) { return static_cast<unsigned char>(c) < limit; });
}

} // namespace tokenloupe
