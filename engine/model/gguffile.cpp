// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/gguffile.h"

#include "engine/base/utf8.h"
#include "engine/model/ggufparser.h"

#include <limits>

namespace tokenloupe {

namespace {

template <class Stored, class Out>
void appendNumbers(const GgufArray &array, std::vector<Out> &out)
{
    ByteCursor cursor(array.bytes);
    out.reserve(static_cast<std::size_t>(array.count)); // backed by bytes of the file
    for (std::uint64_t i = 0; i < array.count; ++i) {
        const auto value = cursor.number<Stored>();
        if (!value)
            return;
        out.push_back(static_cast<Out>(*value));
    }
}

tl::unexpected<Error> wrongType(const GgufFile &file, std::string_view key, const char *expected,
                                const std::string &found)
{
    return makeError(ErrorCode::BadFile, "read " + file.name(),
                     "key " + quotedForMessage(key) + ": expected " + expected + ", found " + found);
}

std::string describe(const GgufValue &value)
{
    if (const auto *array = std::get_if<GgufArray>(&value.value))
        return "an array of " + std::to_string(array->count) + " " + ggufTypeName(array->type);
    return std::string("a value of type ") + ggufTypeName(value.type);
}

Result<const GgufValue *> required(const GgufFile &file, std::string_view key)
{
    if (const GgufValue *value = file.find(key))
        return value;
    return makeError(ErrorCode::BadFile, "read " + file.name(),
                     "key " + quotedForMessage(key) + " is missing");
}

/// The array under `key`; `expected` is for the message.
Result<GgufArray> arrayOf(const GgufFile &file, std::string_view key, const char *expected)
{
    const auto value = required(file, key);
    if (!value)
        return tl::unexpected(value.error());
    if (const auto *array = std::get_if<GgufArray>(&(*value)->value))
        return *array;
    return wrongType(file, key, expected, describe(**value));
}

Result<GgufArray> stringsOf(const GgufFile &file, std::string_view key)
{
    constexpr const char *expected = "an array of strings";
    auto array = arrayOf(file, key, expected);
    if (array && array->type != GgufType::String)
        return wrongType(file, key, expected, describe({GgufType::Array, *array}));
    return array;
}

} // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::filesystem::path &path)
{
    auto mapping = MappedFile::open(path);
    if (!mapping)
        return tl::unexpected(mapping.error());
    std::shared_ptr<GgufFile> file(new GgufFile);
    file->m_name = quotedForMessage(path.filename().native(), 255);
    file->m_name = file->m_name.substr(1, file->m_name.size() - 2);
    file->m_mapping = std::move(*mapping);
    if (const Status parsed = GgufParser(file->m_mapping->bytes(), *file).parse(); !parsed)
        return tl::unexpected(parsed.error());
    return file;
}

Result<std::shared_ptr<const GgufFile>> GgufFile::parse(std::span<const std::byte> bytes, std::string name)
{
    std::shared_ptr<GgufFile> file(new GgufFile);
    file->m_name = std::move(name);
    if (const Status parsed = GgufParser(bytes, *file).parse(); !parsed)
        return tl::unexpected(parsed.error());
    return file;
}

const GgufTensor *GgufFile::tensor(std::string_view name) const
{
    const auto found = m_tensorIndex.find(name);
    return found == m_tensorIndex.end() ? nullptr : &m_tensors[found->second];
}

const GgufValue *GgufFile::find(std::string_view key) const
{
    const auto found = m_metadata.find(key);
    return found == m_metadata.end() ? nullptr : &found->second;
}

Result<std::uint64_t> GgufFile::unsignedValue(std::string_view key) const
{
    const auto value = required(*this, key);
    if (!value)
        return tl::unexpected(value.error());
    if (const auto *number = std::get_if<std::uint64_t>(&(*value)->value))
        return *number;
    if (const auto *number = std::get_if<std::int64_t>(&(*value)->value)) {
        if (*number >= 0)
            return static_cast<std::uint64_t>(*number);
        return wrongType(*this, key, "a number from 0", std::to_string(*number));
    }
    return wrongType(*this, key, "an integer", describe(**value));
}

Result<double> GgufFile::floatValue(std::string_view key) const
{
    const auto value = required(*this, key);
    if (!value)
        return tl::unexpected(value.error());
    if (const auto *number = std::get_if<double>(&(*value)->value))
        return *number;
    return wrongType(*this, key, "a floating-point number", describe(**value));
}

Result<bool> GgufFile::boolValue(std::string_view key) const
{
    const auto value = required(*this, key);
    if (!value)
        return tl::unexpected(value.error());
    if (const auto *flag = std::get_if<bool>(&(*value)->value))
        return *flag;
    return wrongType(*this, key, "a boolean", describe(**value));
}

Result<std::string_view> GgufFile::stringValue(std::string_view key) const
{
    const auto value = required(*this, key);
    if (!value)
        return tl::unexpected(value.error());
    if (const auto *string = std::get_if<std::string_view>(&(*value)->value))
        return *string;
    return wrongType(*this, key, "a string", describe(**value));
}

Result<std::vector<std::string>> GgufFile::stringArray(std::string_view key) const
{
    const auto array = stringsOf(*this, key);
    if (!array)
        return tl::unexpected(array.error());
    std::vector<std::string> out;
    out.reserve(static_cast<std::size_t>(array->count)); // each took at least 8 bytes of the file
    ByteCursor cursor(array->bytes);
    for (std::uint64_t i = 0; i < array->count; ++i) {
        if (const auto string = cursor.string())
            out.emplace_back(*string);
    }
    return out;
}

Result<TextList> GgufFile::textList(std::string_view key) const
{
    const auto array = stringsOf(*this, key);
    if (!array)
        return tl::unexpected(array.error());
    TextList out;
    const auto count = static_cast<std::size_t>(array->count);
    out.reserve(count, array->bytes.size() - count * sizeof(std::uint64_t)); // without the lengths
    ByteCursor cursor(array->bytes);
    for (std::uint64_t i = 0; i < array->count; ++i) {
        if (const auto string = cursor.string())
            out.push_back(*string);
    }
    return out;
}

Result<std::vector<float>> GgufFile::floatArray(std::string_view key) const
{
    constexpr const char *expected = "an array of floating-point numbers";
    const auto array = arrayOf(*this, key, expected);
    if (!array)
        return tl::unexpected(array.error());
    std::vector<float> out;
    if (array->type == GgufType::F32)
        appendNumbers<float>(*array, out);
    else if (array->type == GgufType::F64)
        appendNumbers<double>(*array, out);
    else
        return wrongType(*this, key, expected, describe({GgufType::Array, *array}));
    return out;
}

Result<std::vector<std::int64_t>> GgufFile::integerArray(std::string_view key) const
{
    constexpr const char *expected = "an array of integers";
    const auto array = arrayOf(*this, key, expected);
    if (!array)
        return tl::unexpected(array.error());
    std::vector<std::int64_t> out;
    switch (array->type) {
    case GgufType::U8:
        appendNumbers<std::uint8_t>(*array, out);
        break;
    case GgufType::I8:
        appendNumbers<std::int8_t>(*array, out);
        break;
    case GgufType::U16:
        appendNumbers<std::uint16_t>(*array, out);
        break;
    case GgufType::I16:
        appendNumbers<std::int16_t>(*array, out);
        break;
    case GgufType::U32:
        appendNumbers<std::uint32_t>(*array, out);
        break;
    case GgufType::I32:
        appendNumbers<std::int32_t>(*array, out);
        break;
    case GgufType::U64: // beyond 2^63: negative, and so refused by whoever expects a count
        appendNumbers<std::uint64_t>(*array, out);
        break;
    case GgufType::I64:
        appendNumbers<std::int64_t>(*array, out);
        break;
    default:
        return wrongType(*this, key, expected, describe({GgufType::Array, *array}));
    }
    return out;
}

const char *ggufTypeName(GgufType type)
{
    constexpr const char *names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                     "bool", "string", "array", "u64", "i64", "f64"};
    const auto index = static_cast<std::size_t>(type);
    return index < std::size(names) ? names[index] : "unknown";
}

} // namespace tokenloupe
