// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/variables.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace tokenloupe::jinja {

namespace {

using Json = nlohmann::ordered_json;

Value listOf(Meter &meter, const Json &json)
{
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json &item : json)
        items.push_back(valueOfJson(meter, item));
    return makeList(meter, std::move(items));
}

Value dictionaryOf(Meter &meter, const Json &json)
{
    auto dictionary = std::make_shared<Dictionary>();
    for (const auto &[key, value] : json.items())
        dictionary->insert(meter, makeText(key, Origin::Input), valueOfJson(meter, value));
    return DictionaryPtr(std::move(dictionary));
}

} // namespace

Value valueOfJson(Meter &meter, const Json &json)
{
    const Meter::Level level(meter);
    switch (json.type()) {
    case Json::value_t::null:
        return {};
    case Json::value_t::boolean:
        return json.get<bool>();
    case Json::value_t::number_integer:
        return json.get<std::int64_t>();
    case Json::value_t::number_unsigned: {
        const auto number = json.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            fail("the variable " + std::to_string(number) + " is beyond the bound of 64-bit integers");
        return static_cast<std::int64_t>(number);
    }
    case Json::value_t::number_float:
        return json.get<double>();
    case Json::value_t::string: {
        const auto &text = json.get_ref<const std::string &>();
        meter.checkText(text.size());
        return makeText(text, Origin::Input);
    }
    case Json::value_t::array:
        return listOf(meter, json);
    case Json::value_t::object:
        return dictionaryOf(meter, json);
    case Json::value_t::binary:
    case Json::value_t::discarded:
        break;
    }
    fail("a variable is no JSON value");
}

} // namespace tokenloupe::jinja
