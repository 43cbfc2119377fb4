// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/jsonfields.h"

#include "engine/base/utf8.h"

#include <cmath>
#include <limits>

namespace tokenloupe {

using nlohmann::json;

namespace {

/// A found value in few words: "\"12\"", "3.5", "a list of 4".
std::string foundText(const json *value)
{
    if (!value)
        return "nothing";
    switch (value->type()) {
    case json::value_t::array:
        return "a list of " + std::to_string(value->size());
    case json::value_t::object:
        return "an object";
    case json::value_t::string:
        return quotedForMessage(value->get_ref<const std::string &>());
    default:
        return value->dump();
    }
}

std::string rangeText(std::uint64_t lowest, std::uint64_t highest)
{
    return "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
}

} // namespace

JsonFields::JsonFields(const json &object, JsonSource source, std::string path)
    : m_object(object)
    , m_source(std::move(source))
    , m_path(std::move(path))
{}

const json *JsonFields::find(FieldNames names) const
{
    for (const std::string_view name : names) {
        const auto found = m_object.find(name);
        if (found != m_object.end() && !found->is_null())
            return &*found;
    }
    return nullptr;
}

bool JsonFields::isNull(std::string_view name) const
{
    const auto found = m_object.find(name);
    return found != m_object.end() && found->is_null();
}

void JsonFields::fail(ErrorCode code, std::string_view field, const std::string &message)
{
    if (ok())
        m_status = makeError(code, m_source.operation,
                             "field " + quotedForMessage(m_path + std::string(field)) + ": " + message);
}

void JsonFields::take(const JsonFields &part)
{
    if (ok() && !part.ok())
        m_status = part.m_status;
}

void JsonFields::expected(std::string_view field, const std::string &what, const json *found)
{
    fail(m_source.wrong, field, "expected " + what + ", found " + foundText(found));
}

std::uint64_t JsonFields::numberOf(const json &value, std::string_view field, std::uint64_t lowest,
                                   std::uint64_t highest)
{
    std::optional<std::uint64_t> number;
    if (value.is_number_unsigned()) {
        number = value.get<std::uint64_t>();
    } else if (value.is_number_float()) {
        // "4096.0" is what some writers make of 4096; beyond 2^53 a float says nothing exact.
        const double real = value.get<double>();
        if (real >= 0.0 && real < 9007199254740992.0 && std::floor(real) == real)
            number = static_cast<std::uint64_t>(real);
    }
    if (number && *number >= lowest && *number <= highest)
        return *number;
    expected(field, rangeText(lowest, highest), &value);
    return lowest;
}

std::uint64_t JsonFields::number(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                                 std::optional<std::uint64_t> fallback)
{
    for (const std::string_view name : names) {
        if (const json *value = find({name}))
            return numberOf(*value, name, lowest, highest);
    }
    if (fallback)
        return *fallback;
    expected(*names.begin(), rangeText(lowest, highest), nullptr);
    return lowest;
}

double JsonFields::realOf(const json &value, std::string_view field)
{
    if (value.is_number()) {
        const double real = value.get<double>();
        if (std::isfinite(real) && std::abs(real) <= static_cast<double>(std::numeric_limits<float>::max()))
            return real;
    }
    expected(field, "a finite number", &value);
    return 0.0;
}

double JsonFields::real(FieldNames names, double fallback)
{
    const json *value = find(names);
    return value ? realOf(*value, *names.begin()) : fallback;
}

double JsonFields::positive(FieldNames names, double fallback)
{
    const json *value = find(names);
    if (!value)
        return fallback;
    const double number = realOf(*value, *names.begin());
    if (ok() && !(static_cast<float>(number) > 0.0F))
        expected(*names.begin(), "a number above 0", value);
    return number;
}

std::vector<float> JsonFields::positives(FieldNames names, std::uint64_t count)
{
    const json *value = find(names);
    if (!value)
        return {};
    if (!value->is_array() || value->size() != count) {
        expected(*names.begin(), "a list of " + std::to_string(count) + " numbers", value);
        return {};
    }
    std::vector<float> all;
    for (const json &number : *value) {
        all.push_back(static_cast<float>(realOf(number, *names.begin())));
        if (ok() && !(all.back() > 0.0F))
            expected(*names.begin(), "numbers above 0", &number);
    }
    return all;
}

bool JsonFields::flag(FieldNames names, bool fallback)
{
    const json *value = find(names);
    if (!value)
        return fallback;
    if (value->is_boolean())
        return value->get<bool>();
    expected(*names.begin(), "true or false", value);
    return fallback;
}

std::string JsonFields::text(FieldNames names, std::string fallback)
{
    const json *value = find(names);
    if (!value)
        return fallback;
    if (value->is_string())
        return value->get<std::string>();
    expected(*names.begin(), "a text", value);
    return fallback;
}

std::vector<std::uint64_t> JsonFields::perLayer(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                                                std::uint64_t layers, std::uint64_t fallback)
{
    const json *value = find(names);
    std::vector<std::uint64_t> all(layers, fallback);
    if (!value)
        return all;
    if (!value->is_array()) {
        all.assign(layers, numberOf(*value, *names.begin(), lowest, highest));
        return all;
    }
    if (value->size() != layers) {
        expected(*names.begin(), "a number for each of the " + std::to_string(layers) + " layers", value);
        return all;
    }
    for (std::uint64_t layer = 0; layer < layers; ++layer)
        all[layer] = numberOf((*value)[layer], *names.begin(), lowest, highest);
    return all;
}

std::optional<std::vector<std::string>> JsonFields::texts(FieldNames names)
{
    const json *value = find(names);
    if (!value)
        return {};
    std::vector<std::string> all;
    if (!value->is_array()) {
        expected(*names.begin(), "a list of texts", value);
        return {};
    }
    for (const json &text : *value) {
        if (!text.is_string()) {
            expected(*names.begin(), "a list of texts", &text);
            return {};
        }
        all.push_back(text.get<std::string>());
    }
    return all;
}

std::optional<std::vector<std::uint64_t>> JsonFields::numbers(FieldNames names, std::uint64_t highest)
{
    const json *value = find(names);
    if (!value)
        return {};
    if (!value->is_array()) {
        expected(*names.begin(), "a list of whole numbers", value);
        return {};
    }
    std::vector<std::uint64_t> all;
    for (const json &number : *value)
        all.push_back(numberOf(number, *names.begin(), 0, highest));
    return all;
}

const json *JsonFields::object(std::string_view name)
{
    const json *value = find({name});
    if (value && !value->is_object()) {
        expected(name, "an object", value);
        return nullptr;
    }
    return value;
}

} // namespace tokenloupe
