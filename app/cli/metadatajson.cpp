// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/metadatajson.h"

#include "engine/model/ggufcontainer.h"
#include "engine/model/hf/hfcontainer.h"

#include <cstring>

namespace tokenloupe::cli {

namespace {

constexpr std::uint64_t longestArray = 16;

/// Reads values one after the other; ends early (false) where the bytes end.
class ArrayReader
{
public:
    explicit ArrayReader(std::span<const std::byte> bytes)
        : m_bytes(bytes)
    {}

    template <class T>
    bool read(T &value)
    {
        if (m_bytes.size() < sizeof(T))
            return false;
        std::memcpy(&value, m_bytes.data(), sizeof(T));
        m_bytes = m_bytes.subspan(sizeof(T));
        return true;
    }

    bool readString(std::string &text)
    {
        std::uint64_t size = 0;
        if (!read(size) || size > m_bytes.size())
            return false;
        text.assign(reinterpret_cast<const char *>(m_bytes.data()), size);
        m_bytes = m_bytes.subspan(size);
        return true;
    }

private:
    std::span<const std::byte> m_bytes;
};

template <class T>
Json plainValues(const GgufArray &array)
{
    ArrayReader reader(array.bytes);
    Json list = Json::array();
    T value{};
    for (std::uint64_t i = 0; i < array.count && reader.read(value); ++i) {
        if constexpr (std::is_floating_point_v<T>)
            list.push_back(number(value));
        else
            list.push_back(value);
    }
    return list;
}

Json arrayJson(const GgufArray &array)
{
    if (array.count > longestArray || array.type == GgufType::Array)
        return {{"type", ggufTypeName(array.type)}, {"count", array.count}};
    switch (array.type) {
    case GgufType::U8:
        return plainValues<std::uint8_t>(array);
    case GgufType::I8:
        return plainValues<std::int8_t>(array);
    case GgufType::U16:
        return plainValues<std::uint16_t>(array);
    case GgufType::I16:
        return plainValues<std::int16_t>(array);
    case GgufType::U32:
        return plainValues<std::uint32_t>(array);
    case GgufType::I32:
        return plainValues<std::int32_t>(array);
    case GgufType::U64:
        return plainValues<std::uint64_t>(array);
    case GgufType::I64:
        return plainValues<std::int64_t>(array);
    case GgufType::F32:
        return plainValues<float>(array);
    case GgufType::F64:
        return plainValues<double>(array);
    case GgufType::Bool: {
        Json list = Json::array();
        for (const std::byte byte : array.bytes)
            list.push_back(byte != std::byte{0});
        return list;
    }
    case GgufType::String: {
        ArrayReader reader(array.bytes);
        Json list = Json::array();
        std::string text;
        for (std::uint64_t i = 0; i < array.count && reader.readString(text); ++i)
            list.push_back(text);
        return list;
    }
    case GgufType::Array:
        break;
    }
    return {};
}

Json valueJson(const GgufValue &value)
{
    struct Visitor
    {
        GgufType type;
        Json operator()(std::uint64_t v) const { return v; }
        Json operator()(std::int64_t v) const { return v; }
        Json operator()(double v) const
        {
            return type == GgufType::F32 ? number(static_cast<float>(v)) : number(v);
        }
        Json operator()(bool v) const { return v; }
        Json operator()(std::string_view v) const { return std::string(v); }
        Json operator()(const GgufArray &v) const { return arrayJson(v); }
    };
    return std::visit(Visitor{value.type}, value.value);
}

Json ggufMetadata(const GgufFile &file)
{
    Json out = Json::object();
    for (const std::string &key : file.keyOrder()) {
        if (const GgufValue *value = file.find(key))
            out[key] = valueJson(*value);
    }
    return out;
}

/// A config's value with its long lists as {"type", "count"}. Configs are not nested deep.
Json configValue(const nlohmann::json &value)
{
    if (value.is_array() && value.size() > longestArray)
        return {{"type", value.front().type_name()}, {"count", value.size()}};
    if (!value.is_structured())
        return value;
    Json out = value.is_array() ? Json::array() : Json::object();
    for (const auto &[key, member] : value.items()) {
        if (value.is_array())
            out.push_back(configValue(member));
        else
            out[key] = configValue(member);
    }
    return out;
}

} // namespace

Json metadataJson(const ModelContainer &container)
{
    if (const GgufFile *file = ggufFileOf(container))
        return ggufMetadata(*file);
    const HfContainer *folder = hfContainerOf(container);
    return folder ? configValue(folder->json()) : Json::object();
}

} // namespace tokenloupe::cli
