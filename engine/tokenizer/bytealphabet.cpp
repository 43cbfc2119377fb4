// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytealphabet.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

namespace {

bool standsForItself(unsigned byte)
{
    // U+00AD, the soft hyphen, is invisible and therefore not among them.
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

} // namespace

ByteAlphabet::ByteAlphabet()
{
    m_bytes.fill(-1);
    unsigned nextFree = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const unsigned codePoint = standsForItself(byte) ? byte : nextFree++;
        appendUtf8(m_letters[byte], codePoint);
        m_bytes[codePoint] = static_cast<short>(byte);
    }
}

std::string ByteAlphabet::encode(std::string_view bytes) const
{
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes)
        text += m_letters[static_cast<unsigned char>(byte)];
    return text;
}

std::string ByteAlphabet::decode(std::string_view text) const
{
    std::string bytes;
    bytes.reserve(text.size());
    decode(text, bytes);
    return bytes;
}

void ByteAlphabet::decode(std::string_view text, std::string &bytes) const
{
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i]);
        unsigned codePoint = first;
        std::size_t length = 1;
        // Letters take one or two bytes of UTF-8; whatever is longer lies outside of the alphabet.
        if (first >= 0xC2 && first <= 0xDF && i + 1 < text.size()) {
            const auto second = static_cast<unsigned char>(text[i + 1]);
            if (second >= 0x80 && second <= 0xBF) {
                codePoint = ((first & 0x1FU) << 6) | (second & 0x3FU);
                length = 2;
            }
        }
        const bool isCharacter = length == 2 || first < 0x80;
        if (isCharacter && codePoint <= lastLetter && m_bytes[codePoint] >= 0)
            bytes += static_cast<char>(m_bytes[codePoint]);
        else
            bytes += text.substr(i, length);
        i += length;
    }
}

} // namespace tokenloupe
