// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h" // ByteRange

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::jinja {

class Meter;

enum class Origin { Template, Input };

/// A string value: UTF-8 bytes, and which of them came from the variables. Never changed once made.
struct Text
{
    std::string bytes;
    std::vector<ByteRange> input; ///< rising, not overlapping, not touching
    bool ascii = true;            ///< then offsets in characters and in bytes are the same
    bool markup = false;          ///< went through `safe`: other strings are escaped when joined to it

    bool hasInput() const { return !input.empty(); }
    Origin origin() const { return hasInput() ? Origin::Input : Origin::Template; }
};

using TextPtr = std::shared_ptr<const Text>;

TextPtr makeText(std::string bytes, Origin origin = Origin::Template);
TextPtr emptyText();

/// Puts a text together from pieces and keeps what is input. Checks the size bound at every piece.
class TextBuilder
{
public:
    explicit TextBuilder(Meter &meter)
        : m_meter(meter)
    {}

    void append(const Text &text) { append(text, 0, text.bytes.size()); }
    void append(const Text &text, std::size_t begin, std::size_t end); ///< bytes
    void append(std::string_view bytes, Origin origin = Origin::Template);
    void append(std::size_t count, char character, Origin origin = Origin::Template);
    std::size_t size() const { return m_bytes.size(); }
    TextPtr finish(bool markup = false);
    /// What was built, without making a value of it.
    std::string takeBytes() { return std::move(m_bytes); }
    std::vector<ByteRange> takeInput() { return std::move(m_input); }

private:
    void addInput(std::size_t begin, std::size_t end);

    Meter &m_meter;
    std::string m_bytes;
    std::vector<ByteRange> m_input;
};

/// Tells for rising byte offsets whether they are input.
class OriginCursor
{
public:
    explicit OriginCursor(const Text &text)
        : m_text(text)
    {}
    Origin at(std::size_t offset);

private:
    const Text &m_text;
    std::size_t m_range = 0;
};

TextPtr subText(Meter &meter, const Text &text, std::size_t begin, std::size_t end);
TextPtr concat(Meter &meter, const Text &left, const Text &right);
TextPtr repeat(Meter &meter, const Text &text, std::int64_t count);
TextPtr asMarkup(Meter &meter, const TextPtr &text);
TextPtr asPlain(Meter &meter, const TextPtr &text);

/// Characters (code points; a byte that is not UTF-8 counts as one).
std::size_t lengthOf(Meter &meter, const Text &text);
/// Byte offset of every character, and the size at the end. Counts work.
std::vector<std::uint32_t> characterOffsets(Meter &meter, const Text &text);
/// Byte offset of the character `index`, which may be lengthOf().
std::size_t byteOffset(Meter &meter, const Text &text, std::size_t index);
/// Inverse of byteOffset().
std::size_t characterIndex(Meter &meter, const Text &text, std::size_t offset);

} // namespace tokenloupe::jinja
