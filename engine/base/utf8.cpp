// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"

#include <array>

namespace tokenloupe {

namespace {

constexpr char32_t replacement = 0xFFFD;

/// What a lead byte promises: how many bytes, and the range of the second one. The second byte's range is
/// what shuts out overlong forms, surrogates and values above U+10FFFF.
struct Lead
{
    std::uint32_t length = 0; // 0: cannot begin a character
    unsigned char secondLow = 0x80;
    unsigned char secondHigh = 0xBF;
};

Lead leadOf(unsigned char byte)
{
    if (byte < 0x80)
        return {1};
    if (byte < 0xC2)
        return {0};
    if (byte < 0xE0)
        return {2};
    if (byte == 0xE0)
        return {3, 0xA0, 0xBF};
    if (byte == 0xED)
        return {3, 0x80, 0x9F};
    if (byte < 0xF0)
        return {3};
    if (byte == 0xF0)
        return {4, 0x90, 0xBF};
    if (byte < 0xF4)
        return {4};
    if (byte == 0xF4)
        return {4, 0x80, 0x8F};
    return {0};
}

enum class Scan { Whole, Bad, Cut };

/// The unit at the start of `text` (not empty). Cut: the text ends inside what may still become a character.
struct Scanned
{
    Scan result = Scan::Bad;
    std::uint32_t length = 1;
    char32_t codePoint = 0;
};

Scanned scan(std::string_view text)
{
    const auto byteAt = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byteAt(0);
    const Lead lead = leadOf(first);
    if (lead.length == 0)
        return {Scan::Bad, 1, 0};
    if (lead.length == 1)
        return {Scan::Whole, 1, first};
    char32_t code = first & (0x7FU >> lead.length);
    for (std::uint32_t i = 1; i < lead.length; ++i) {
        if (i == text.size())
            return {Scan::Cut, i, 0};
        const unsigned char byte = byteAt(i);
        const unsigned char lowest = i == 1 ? lead.secondLow : 0x80;
        const unsigned char highest = i == 1 ? lead.secondHigh : 0xBF;
        if (byte < lowest || byte > highest)
            return {Scan::Bad, i, 0};
        code = (code << 6) | (byte & 0x3FU);
    }
    return {Scan::Whole, lead.length, code};
}

int nibbleOf(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

bool needsEscape(char32_t code)
{
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    // Line and paragraph separators, and the marks that reorder what stands around them.
    const bool layout = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                        (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
    return control || layout;
}

void appendEscaped(std::string &out, char32_t code)
{
    constexpr std::string_view digits = "0123456789abcdef";
    if (code == '\n') {
        out += "\\n";
    } else if (code < 0x100) {
        out += "\\x";
        out += digits[code >> 4];
        out += digits[code & 15U];
    } else {
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4)
            out += digits[(code >> shift) & 15U];
    }
}

} // namespace

std::string Utf8Stream::push(std::string_view bytes)
{
    m_pending.append(bytes);
    std::string out;
    out.reserve(m_pending.size());
    std::size_t offset = 0;
    while (offset < m_pending.size()) {
        const std::string_view rest = std::string_view(m_pending).substr(offset);
        const Scanned unit = scan(rest);
        if (unit.result == Scan::Cut)
            break;
        if (unit.result == Scan::Whole)
            out += rest.substr(0, unit.length);
        else
            appendUtf8(out, replacement);
        offset += unit.length;
    }
    m_pending.erase(0, offset);
    return out;
}

std::string Utf8Stream::finish()
{
    std::string out = sanitizedUtf8(m_pending);
    m_pending.clear();
    return out;
}

Utf8Unit decodeUtf8(std::string_view text, std::size_t offset)
{
    const Scanned unit = scan(text.substr(offset));
    return {unit.codePoint, static_cast<std::uint32_t>(offset), unit.length, unit.result == Scan::Whole};
}

bool isValidUtf8(std::string_view text)
{
    for (std::size_t offset = 0; offset < text.size();) {
        const Scanned unit = scan(text.substr(offset));
        if (unit.result != Scan::Whole)
            return false;
        offset += unit.length;
    }
    return true;
}

std::string sanitizedUtf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t offset = 0; offset < text.size();) {
        const Scanned unit = scan(text.substr(offset));
        if (unit.result == Scan::Whole)
            out += text.substr(offset, unit.length);
        else
            appendUtf8(out, replacement);
        offset += unit.length;
    }
    return out;
}

void appendUtf8(std::string &out, char32_t codePoint)
{
    const bool surrogate = codePoint >= 0xD800 && codePoint <= 0xDFFF;
    const char32_t code = surrogate || codePoint > 0x10FFFF ? replacement : codePoint;
    const auto tail = [code](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
    } else if (code < 0x10000) {
        out += {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
    } else {
        out += {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
    }
}

std::string hexOf(std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4];
        out += digits[byte & 15U];
    }
    return out;
}

Result<std::string> bytesOfHex(std::string_view hex)
{
    if (hex.size() % 2 != 0)
        return makeError(ErrorCode::InvalidArgument, "read hexadecimal bytes",
                         "expected an even number of digits, found " + std::to_string(hex.size()));
    std::string out;
    out.reserve(hex.size() / 2);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const int upper = nibbleOf(hex[i]);
        const int lower = nibbleOf(hex[i + 1]);
        if (upper < 0 || lower < 0)
            return makeError(ErrorCode::InvalidArgument, "read hexadecimal bytes",
                             "expected digits 0-9 and a-f, found " + quotedForMessage(hex.substr(i, 2)));
        out += static_cast<char>(upper * 16 + lower);
    }
    return out;
}

std::string quotedForMessage(std::string_view text, std::size_t maxBytes)
{
    std::string out = "\"";
    for (std::size_t offset = 0; offset < text.size();) {
        if (offset >= maxBytes) {
            out += "…\" (" + std::to_string(text.size()) + " bytes)";
            return out;
        }
        const Scanned unit = scan(text.substr(offset));
        const std::string_view bytes = text.substr(offset, unit.length);
        if (unit.result != Scan::Whole) {
            for (const char byte : bytes)
                appendEscaped(out, static_cast<unsigned char>(byte));
        } else if (needsEscape(unit.codePoint)) {
            appendEscaped(out, unit.codePoint);
        } else {
            if (bytes == "\"" || bytes == "\\")
                out += '\\';
            out += bytes;
        }
        offset += unit.length;
    }
    out += '"';
    return out;
}

} // namespace tokenloupe
