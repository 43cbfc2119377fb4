// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufparser.h"

#include "engine/base/utf8.h"
#include "engine/model/ggufmagic.h"

#include <bit>

namespace tokenloupe {

namespace {

constexpr std::uint64_t maxEntries = 1U << 20; // keys, and tensors: far above any model, far below what hurts
constexpr std::uint32_t maxArrayDepth = 4;

// The fewest bytes that one entry takes in the file.
constexpr std::uint64_t leastKeyBytes = 8 + 1 + 4 + 1;        // length, name, type, value
constexpr std::uint64_t leastTensorBytes = 8 + 1 + 4 + 4 + 8; // length, name, dimensions, type, offset

bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t &product)
{
    return !__builtin_mul_overflow(a, b, &product);
}

/// Bytes of a number type in the file; 0 for strings and arrays.
std::uint64_t fixedSize(GgufType type)
{
    switch (type) {
    case GgufType::U8:
    case GgufType::I8:
    case GgufType::Bool:
        return 1;
    case GgufType::U16:
    case GgufType::I16:
        return 2;
    case GgufType::U32:
    case GgufType::I32:
    case GgufType::F32:
        return 4;
    case GgufType::U64:
    case GgufType::I64:
    case GgufType::F64:
        return 8;
    case GgufType::String:
    case GgufType::Array:
        break;
    }
    return 0;
}

template <class Stored, class Widened>
std::optional<GgufScalar> scalar(ByteCursor &cursor)
{
    const auto value = cursor.number<Stored>();
    if (!value)
        return std::nullopt;
    return GgufScalar(static_cast<Widened>(*value));
}

std::optional<GgufScalar> numberOf(ByteCursor &cursor, GgufType type)
{
    switch (type) {
    case GgufType::U8:
        return scalar<std::uint8_t, std::uint64_t>(cursor);
    case GgufType::I8:
        return scalar<std::int8_t, std::int64_t>(cursor);
    case GgufType::U16:
        return scalar<std::uint16_t, std::uint64_t>(cursor);
    case GgufType::I16:
        return scalar<std::int16_t, std::int64_t>(cursor);
    case GgufType::U32:
        return scalar<std::uint32_t, std::uint64_t>(cursor);
    case GgufType::I32:
        return scalar<std::int32_t, std::int64_t>(cursor);
    case GgufType::F32:
        return scalar<float, double>(cursor);
    case GgufType::U64:
        return scalar<std::uint64_t, std::uint64_t>(cursor);
    case GgufType::I64:
        return scalar<std::int64_t, std::int64_t>(cursor);
    case GgufType::F64:
        return scalar<double, double>(cursor);
    case GgufType::Bool: // any byte but 0 is true
        if (const auto byte = cursor.number<std::uint8_t>())
            return GgufScalar(*byte != 0);
        return std::nullopt;
    case GgufType::String:
    case GgufType::Array:
        break;
    }
    return std::nullopt;
}

std::string text(std::uint64_t number)
{
    return std::to_string(number);
}

} // namespace

GgufParser::GgufParser(std::span<const std::byte> bytes, GgufFile &file)
    : m_bytes(bytes)
    , m_cursor(bytes)
    , m_file(file)
{}

Status GgufParser::parse()
{
    return parseHeader()
        .and_then([this] { return parseKeys(); })
        .and_then([this] { return readAlignment(); })
        .and_then([this] { return parseTensors(); })
        .and_then([this] { return placeTensors(); })
        .and_then([this] { return checkOverlaps(); });
}

Status GgufParser::parseHeader()
{
    const auto magic = m_cursor.take(ggufMagic.size());
    if (!magic)
        return bad("expected a GGUF file, found only " + text(m_bytes.size()) + " bytes");
    const std::string_view found(reinterpret_cast<const char *>(magic->data()), magic->size());
    if (found != ggufMagic) {
        if (const char *format = foreignFormat(m_bytes))
            return unsupported(std::string("expected a GGUF file, found ") + format);
        return bad("expected the four bytes \"GGUF\" at the start, found " + quotedForMessage(found));
    }

    const auto version = m_cursor.number<std::uint32_t>();
    if (!version)
        return endOfFile("the version");
    // Versions are small numbers: one that has nothing in its low half was written the other way round.
    if (*version != 0 && (*version & 0xFFFFU) == 0)
        return unsupported("the file is big-endian; expected a little-endian GGUF file");
    if (*version == 0)
        return bad("version: expected 2 or 3, found 0");
    if (*version == 1)
        return unsupported("version: expected 2 or 3, found 1 (32-bit counts, of August 2023)");
    if (*version > 3)
        return unsupported("version: expected 2 or 3, found " + text(*version) +
                           " (made for a newer program, or damaged)");
    m_file.m_version = *version;

    const auto tensors = m_cursor.number<std::uint64_t>();
    const auto keys = m_cursor.number<std::uint64_t>();
    if (!tensors || !keys)
        return endOfFile("the header (24 bytes)");
    m_tensorCount = *tensors;
    m_keyCount = *keys;
    const std::uint64_t rest = m_cursor.remaining();
    if (m_keyCount > rest / leastKeyBytes || m_keyCount > maxEntries)
        return bad("key count: found " + text(m_keyCount) + ", more than the " + text(rest) +
                   " bytes that follow can hold or a model needs");
    if (m_tensorCount > rest / leastTensorBytes || m_tensorCount > maxEntries)
        return bad("tensor count: found " + text(m_tensorCount) + ", more than the " + text(rest) +
                   " bytes that follow can hold or a model needs");
    return {};
}

Status GgufParser::parseKeys()
{
    for (std::uint64_t i = 0; i < m_keyCount; ++i) {
        if (Status key = parseKey(); !key)
            return key;
    }
    return {};
}

Status GgufParser::parseKey()
{
    const std::string place = "key " + text(m_file.m_keyOrder.size() + 1) + " of " + text(m_keyCount);
    const std::uint64_t start = m_cursor.position();
    const auto name = m_cursor.string();
    if (!name)
        return endOfFile("the name of " + place + " (at byte " + text(start) + ")");
    if (name->empty() || name->size() > maxNameBytes)
        return bad(place + ": expected a name of 1 to " + text(maxNameBytes) + " bytes, found " +
                   text(name->size()));
    const std::string key(*name);
    if (m_file.m_metadata.contains(key))
        return bad("key " + quotedForMessage(key) + " is there twice");

    const auto typeId = m_cursor.number<std::uint32_t>();
    if (!typeId)
        return endOfFile("the type of key " + quotedForMessage(key));
    if (*typeId > static_cast<std::uint32_t>(GgufType::F64))
        return bad("key " + quotedForMessage(key) + ": expected a value type from 0 to 12, found " +
                   text(*typeId));
    auto value = parseValue(key, static_cast<GgufType>(*typeId));
    if (!value)
        return tl::unexpected(value.error());
    m_file.m_metadata.emplace(key, *value);
    m_file.m_keyOrder.push_back(key);
    return {};
}

Result<GgufValue> GgufParser::parseValue(const std::string &key, GgufType type)
{
    if (type == GgufType::Array) {
        auto array = parseArray(key, 1);
        if (!array)
            return tl::unexpected(array.error());
        return GgufValue{type, *array};
    }
    if (type == GgufType::String) {
        const auto string = m_cursor.string();
        if (!string)
            return endOfFile("the string of key " + quotedForMessage(key));
        return GgufValue{type, *string};
    }
    const auto number = numberOf(m_cursor, type);
    if (!number)
        return endOfFile("the value of key " + quotedForMessage(key));
    return GgufValue{type, *number};
}

Result<GgufArray> GgufParser::parseArray(const std::string &key, std::uint32_t depth)
{
    const auto typeId = m_cursor.number<std::uint32_t>();
    const auto count = m_cursor.number<std::uint64_t>();
    if (!typeId || !count)
        return endOfFile("the array of key " + quotedForMessage(key));
    if (*typeId > static_cast<std::uint32_t>(GgufType::F64))
        return bad("key " + quotedForMessage(key) + ": expected an element type from 0 to 12, found " +
                   text(*typeId));
    const auto type = static_cast<GgufType>(*typeId);
    if (type == GgufType::Array && depth == maxArrayDepth)
        return bad("key " + quotedForMessage(key) + ": arrays inside arrays, more than " +
                   text(maxArrayDepth) + " deep");

    const std::uint64_t start = m_cursor.position();
    const auto tooLong = [&] {
        return endOfFile("the array of key " + quotedForMessage(key) + " (" + text(*count) +
                         " elements of type " + ggufTypeName(type) + ")");
    };
    if (const std::uint64_t size = fixedSize(type); size != 0) {
        std::uint64_t bytes = 0;
        if (!multiply(*count, size, bytes) || !m_cursor.take(bytes))
            return tooLong();
    } else {
        // Each element begins with at least a 64-bit length, so a false count ends at the end of the file.
        if (*count > m_cursor.remaining() / sizeof(std::uint64_t))
            return tooLong();
        for (std::uint64_t i = 0; i < *count; ++i) {
            if (type == GgufType::Array) {
                if (auto inner = parseArray(key, depth + 1); !inner)
                    return inner;
            } else if (!m_cursor.string()) {
                return tooLong();
            }
        }
    }
    return GgufArray{type, *count, m_bytes.subspan(start, m_cursor.position() - start)};
}

Status GgufParser::readAlignment()
{
    const GgufValue *value = m_file.find("general.alignment");
    if (!value)
        return {};
    if (value->type != GgufType::U32)
        return bad(std::string("key \"general.alignment\": expected a u32, found ") +
                   ggufTypeName(value->type));
    const std::uint64_t alignment = std::get<std::uint64_t>(value->value);
    // Eight is the format's own minimum; it also makes every number in the data section readable in place.
    if (!std::has_single_bit(alignment) || alignment < 8)
        return bad("key \"general.alignment\": expected a power of two from 8, found " + text(alignment));
    m_file.m_alignment = alignment;
    return {};
}

tl::unexpected<Error> GgufParser::bad(std::string message) const
{
    return makeError(ErrorCode::BadFile, "read " + m_file.m_name, std::move(message));
}

tl::unexpected<Error> GgufParser::unsupported(std::string message) const
{
    return makeError(ErrorCode::Unsupported, "read " + m_file.m_name, std::move(message));
}

tl::unexpected<Error> GgufParser::endOfFile(const std::string &what) const
{
    return bad("the file ends inside " + what + "; it has " + text(m_bytes.size()) +
               " bytes and is damaged or not complete");
}

} // namespace tokenloupe
