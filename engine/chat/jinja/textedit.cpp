// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/textedit.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/textsearch.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

constexpr std::size_t npos = std::string_view::npos;

/// The characters of a text as a sorted set.
std::vector<char32_t> characterSet(Meter &meter, const Text &text)
{
    meter.work(text.bytes.size() * 64);
    std::vector<char32_t> set;
    for (std::size_t at = 0; at < text.bytes.size();) {
        const Utf8Unit unit = decodeUtf8(text.bytes, at);
        if (unit.valid)
            set.push_back(unit.codePoint);
        at += unit.length;
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return set;
}

/// Start of the character that ends at `end`.
std::size_t characterBefore(std::string_view text, std::size_t end)
{
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U)
        --begin;
    return begin + decodeUtf8(text, begin).length == end ? begin : end - 1;
}

/// First white space at or after `from`, or the end.
std::size_t nextSpace(std::string_view text, std::size_t from)
{
    while (from < text.size()) {
        const Utf8Unit unit = decodeUtf8(text, from);
        if (unit.valid && isSpace(unit.codePoint))
            break;
        from += unit.length;
    }
    return from;
}

/// Begin of the word that ends at `end`.
std::size_t wordBegin(std::string_view text, std::size_t end)
{
    while (end > 0) {
        const std::size_t before = characterBefore(text, end);
        const Utf8Unit unit = decodeUtf8(text, before);
        if (unit.valid && isSpace(unit.codePoint))
            break;
        end = before;
    }
    return end;
}

/// Collects parts of a text.
class Parts
{
public:
    Parts(Meter &meter, const Text &text)
        : m_meter(meter)
        , m_text(text)
    {}
    void add(std::size_t begin, std::size_t end)
    {
        m_meter.step();
        m_meter.checkCount(m_items.size() + 1);
        m_items.emplace_back(subText(m_meter, m_text, begin, end));
    }
    bool full(std::int64_t most) const
    {
        return most >= 0 && m_items.size() >= static_cast<std::uint64_t>(most);
    }
    std::vector<Value> take() { return std::move(m_items); }
    std::vector<Value> takeReversed()
    {
        std::reverse(m_items.begin(), m_items.end());
        return std::move(m_items);
    }

private:
    Meter &m_meter;
    const Text &m_text;
    std::vector<Value> m_items;
};

std::vector<Value> splitAtSpace(Meter &meter, const Text &text, std::int64_t most)
{
    const std::string_view bytes = text.bytes;
    meter.work(bytes.size());
    Parts parts(meter, text);
    std::size_t at = leadingSpace(bytes);
    while (at < bytes.size()) {
        if (parts.full(most)) {
            parts.add(at, bytes.size());
            break;
        }
        const std::size_t end = nextSpace(bytes, at);
        parts.add(at, end);
        at = end + leadingSpace(bytes.substr(end));
    }
    return parts.take();
}

std::vector<Value> splitAtSpaceFromRight(Meter &meter, const Text &text, std::int64_t most)
{
    const std::string_view bytes = text.bytes;
    meter.work(bytes.size());
    Parts parts(meter, text);
    std::size_t end = bytes.size() - trailingSpace(bytes);
    while (end > 0) {
        if (parts.full(most)) {
            parts.add(0, end);
            break;
        }
        const std::size_t begin = wordBegin(bytes, end);
        parts.add(begin, end);
        end = begin - trailingSpace(bytes.substr(0, begin));
    }
    return parts.takeReversed();
}

} // namespace

TextPtr strip(Meter &meter, const TextPtr &text, Side side, const Text *characters)
{
    const std::string_view bytes = text->bytes;
    std::size_t begin = 0;
    std::size_t end = bytes.size();
    if (!characters) {
        begin = side == Side::Right ? 0 : leadingSpace(bytes);
        end -= side == Side::Left ? 0 : trailingSpace(bytes.substr(begin));
    } else {
        const std::vector<char32_t> set = characterSet(meter, *characters);
        const auto inSet = [&](std::size_t at) {
            const Utf8Unit unit = decodeUtf8(bytes, at);
            return unit.valid && std::binary_search(set.begin(), set.end(), unit.codePoint);
        };
        while (side != Side::Right && begin < end && inSet(begin))
            begin += decodeUtf8(bytes, begin).length;
        while (side != Side::Left && end > begin && inSet(characterBefore(bytes, end)))
            end = characterBefore(bytes, end);
    }
    meter.work((bytes.size() - (end - begin)) * 8);
    if (begin == 0 && end == bytes.size())
        return text;
    return subText(meter, *text, begin, end);
}

std::vector<Value> split(Meter &meter, const Text &text, const Text *separator, std::int64_t most, Side from)
{
    if (!separator)
        return from == Side::Left ? splitAtSpace(meter, text, most)
                                  : splitAtSpaceFromRight(meter, text, most);
    if (separator->bytes.empty())
        fail("split needs a separator that is not empty");
    Parts parts(meter, text);
    const std::size_t width = separator->bytes.size();
    if (from == Side::Left) {
        std::size_t begin = 0;
        while (!parts.full(most)) {
            const std::size_t found = findText(meter, text.bytes, separator->bytes, begin);
            if (found == npos)
                break;
            parts.add(begin, found);
            begin = found + width;
        }
        parts.add(begin, text.bytes.size());
        return parts.take();
    }
    std::size_t end = text.bytes.size();
    while (!parts.full(most)) {
        const std::size_t found = findLastText(meter, text.bytes, separator->bytes, end);
        if (found == npos)
            break;
        parts.add(found + width, end);
        end = found;
    }
    parts.add(0, end);
    return parts.takeReversed();
}

std::vector<Value> splitLines(Meter &meter, const Text &text, LineEnds ends)
{
    const std::string_view bytes = text.bytes;
    meter.work(bytes.size() * 2);
    const auto endsLine = [](char32_t code) {
        return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
               code == 0x2028 || code == 0x2029;
    };
    Parts parts(meter, text);
    std::size_t begin = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = decodeUtf8(bytes, at);
        const std::size_t lineEnd = at;
        at += unit.length;
        if (!unit.valid || !endsLine(unit.codePoint))
            continue;
        if (unit.codePoint == U'\r' && at < bytes.size() && bytes[at] == '\n')
            ++at;
        parts.add(begin, ends == LineEnds::Keep ? at : lineEnd);
        begin = at;
    }
    if (begin < bytes.size())
        parts.add(begin, bytes.size());
    return parts.take();
}

TextPtr replace(Meter &meter, const Text &text, const Text &old, const Text &with, std::int64_t most)
{
    TextBuilder out(meter);
    std::size_t at = 0;
    const auto mayGoOn = [&most] { return most < 0 || most-- > 0; };
    if (old.bytes.empty()) {
        // Goes before every character and behind the last.
        while (mayGoOn()) {
            meter.step();
            out.append(with);
            if (at >= text.bytes.size())
                break;
            const std::size_t next = at + decodeUtf8(text.bytes, at).length;
            out.append(text, at, next);
            at = next;
        }
    } else {
        while (mayGoOn()) {
            const std::size_t found = findText(meter, text.bytes, old.bytes, at);
            if (found == npos)
                break;
            meter.step();
            out.append(text, at, found);
            out.append(with);
            at = found + old.bytes.size();
        }
    }
    out.append(text, at, text.bytes.size());
    return out.finish(text.markup);
}

TextPtr join(Meter &meter, const Text &separator, const std::vector<Value> &items)
{
    TextBuilder out(meter);
    bool first = true;
    for (const Value &item : items) {
        meter.step();
        if (!first)
            out.append(separator);
        first = false;
        appendText(meter, out, item);
    }
    return out.finish();
}

TextPtr pad(Meter &meter, const TextPtr &text, std::int64_t width, Side side, const Text &filling)
{
    const auto length = static_cast<std::int64_t>(lengthOf(meter, *text));
    if (lengthOf(meter, filling) != 1)
        fail("the filling has to be one character");
    if (width <= length)
        return text;
    const std::int64_t missing = width - length;
    std::int64_t left = side == Side::Left ? missing : 0;
    if (side == Side::Both)
        left = missing / 2 + (missing & width & 1); // as Python: an odd rest goes left in odd widths
    TextBuilder out(meter);
    out.append(*repeat(meter, filling, left));
    out.append(*text);
    out.append(*repeat(meter, filling, missing - left));
    return out.finish(text->markup);
}

} // namespace tokenloupe::jinja
