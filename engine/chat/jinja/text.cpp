// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/text.h"

#include "engine/base/utf8.h"
#include "engine/chat/jinja/meter.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

/// Going through characters takes longer than copying them.
constexpr std::size_t decodingWork = 4;

bool isAscii(std::string_view bytes)
{
    unsigned char all = 0;
    for (const char c : bytes)
        all = static_cast<unsigned char>(all | static_cast<unsigned char>(c));
    return all < 0x80;
}

std::uint32_t offsetOf(std::size_t value)
{
    return static_cast<std::uint32_t>(value);
}

} // namespace

TextPtr makeText(std::string bytes, Origin origin)
{
    auto text = std::make_shared<Text>();
    text->bytes = std::move(bytes);
    text->ascii = isAscii(text->bytes);
    if (origin == Origin::Input && !text->bytes.empty())
        text->input.push_back({0, offsetOf(text->bytes.size())});
    return text;
}

TextPtr emptyText()
{
    static const TextPtr empty = std::make_shared<Text>();
    return empty;
}

void TextBuilder::append(const Text &text, std::size_t begin, std::size_t end)
{
    if (begin >= end)
        return;
    const std::size_t length = end - begin;
    m_meter.checkText(m_bytes.size() + length);
    m_meter.work(length);
    const std::size_t shift = m_bytes.size();
    m_bytes.append(text.bytes, begin, length);
    const auto first = std::partition_point(text.input.begin(), text.input.end(),
                                            [begin](const ByteRange &range) { return range.end <= begin; });
    std::size_t ranges = 0;
    for (auto range = first; range != text.input.end() && range->begin < end; ++range, ++ranges) {
        const std::size_t from = std::max<std::size_t>(range->begin, begin);
        const std::size_t to = std::min<std::size_t>(range->end, end);
        addInput(from - begin + shift, to - begin + shift);
    }
    m_meter.work(ranges * sizeof(ByteRange));
}

void TextBuilder::append(std::string_view bytes, Origin origin)
{
    if (bytes.empty())
        return;
    m_meter.checkText(m_bytes.size() + bytes.size());
    m_meter.work(bytes.size());
    if (origin == Origin::Input)
        addInput(m_bytes.size(), m_bytes.size() + bytes.size());
    m_bytes.append(bytes);
}

void TextBuilder::append(std::size_t count, char character, Origin origin)
{
    if (count == 0)
        return;
    m_meter.checkText(count);
    m_meter.checkText(m_bytes.size() + count);
    m_meter.work(count);
    if (origin == Origin::Input)
        addInput(m_bytes.size(), m_bytes.size() + count);
    m_bytes.append(count, character);
}

void TextBuilder::addInput(std::size_t begin, std::size_t end)
{
    if (!m_input.empty() && m_input.back().end == begin)
        m_input.back().end = offsetOf(end);
    else
        m_input.push_back({offsetOf(begin), offsetOf(end)});
}

TextPtr TextBuilder::finish(bool markup)
{
    auto text = std::make_shared<Text>();
    text->bytes = std::move(m_bytes);
    text->input = std::move(m_input);
    text->ascii = isAscii(text->bytes);
    text->markup = markup;
    m_bytes.clear();
    m_input.clear();
    return text;
}

Origin OriginCursor::at(std::size_t offset)
{
    while (m_range < m_text.input.size() && m_text.input[m_range].end <= offset)
        ++m_range;
    const bool inside = m_range < m_text.input.size() && m_text.input[m_range].begin <= offset;
    return inside ? Origin::Input : Origin::Template;
}

TextPtr subText(Meter &meter, const Text &text, std::size_t begin, std::size_t end)
{
    TextBuilder builder(meter);
    builder.append(text, begin, end);
    return builder.finish(text.markup);
}

TextPtr concat(Meter &meter, const Text &left, const Text &right)
{
    TextBuilder builder(meter);
    builder.append(left);
    builder.append(right);
    return builder.finish(left.markup || right.markup);
}

TextPtr repeat(Meter &meter, const Text &text, std::int64_t count)
{
    if (count <= 0 || text.bytes.empty())
        return emptyText();
    const auto times = static_cast<std::uint64_t>(count);
    std::size_t total = 0;
    if (__builtin_mul_overflow(times, text.bytes.size(), &total))
        total = static_cast<std::size_t>(-1);
    meter.checkText(total);
    meter.step(static_cast<std::size_t>(times) / 16);
    TextBuilder builder(meter);
    for (std::uint64_t i = 0; i < times; ++i)
        builder.append(text);
    return builder.finish(text.markup);
}

TextPtr asMarkup(Meter &meter, const TextPtr &text)
{
    if (text->markup)
        return text;
    meter.work(text->bytes.size());
    auto copy = std::make_shared<Text>(*text);
    copy->markup = true;
    return copy;
}

TextPtr asPlain(Meter &meter, const TextPtr &text)
{
    if (!text->markup)
        return text;
    meter.work(text->bytes.size());
    auto copy = std::make_shared<Text>(*text);
    copy->markup = false;
    return copy;
}

std::size_t lengthOf(Meter &meter, const Text &text)
{
    return characterIndex(meter, text, text.bytes.size());
}

std::vector<std::uint32_t> characterOffsets(Meter &meter, const Text &text)
{
    meter.work(text.bytes.size() * sizeof(std::uint32_t));
    std::vector<std::uint32_t> offsets;
    offsets.reserve(text.bytes.size() + 1);
    for (std::size_t i = 0; i < text.bytes.size();) {
        offsets.push_back(offsetOf(i));
        i += text.ascii ? 1 : decodeUtf8(text.bytes, i).length;
    }
    offsets.push_back(offsetOf(text.bytes.size()));
    return offsets;
}

std::size_t byteOffset(Meter &meter, const Text &text, std::size_t index)
{
    if (text.ascii)
        return std::min(index, text.bytes.size());
    std::size_t offset = 0;
    while (index > 0 && offset < text.bytes.size()) {
        offset += decodeUtf8(text.bytes, offset).length;
        --index;
    }
    meter.work(offset * decodingWork);
    return offset;
}

std::size_t characterIndex(Meter &meter, const Text &text, std::size_t offset)
{
    if (text.ascii)
        return offset;
    meter.work(offset * decodingWork);
    std::size_t count = 0;
    for (std::size_t i = 0; i < offset; ++count)
        i += decodeUtf8(text.bytes, i).length;
    return count;
}

} // namespace tokenloupe::jinja
