// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufconfigreader.h"

#include <cmath>

namespace tokenloupe {

std::vector<std::uint32_t> GgufConfigReader::perLayer(const std::string &key, std::uint64_t highest,
                                                      std::uint32_t layers,
                                                      std::optional<std::uint32_t> fallback)
{
    if (!m_status)
        return {};
    const GgufValue *value = m_file.find(full(key));
    if (!value && (fallback || m_keys == Presence::Optional))
        return std::vector<std::uint32_t>(std::max(layers, 1U), fallback.value_or(0));

    std::vector<std::uint32_t> numbers;
    const auto append = [&](std::uint64_t number) {
        if (number == 0 || number > highest)
            fail(ErrorCode::BadFile, key,
                 "expected 1 to " + std::to_string(highest) + ", found " + std::to_string(number));
        numbers.push_back(static_cast<std::uint32_t>(number));
    };
    if (value && value->type == GgufType::Array) {
        const std::uint64_t found = std::get<GgufArray>(value->value).count;
        if (found == 0 || found > maxLayersWithoutTensors || (layers != 0 && found != layers)) {
            fail(ErrorCode::BadFile, key,
                 "expected one number for each layer" +
                     (layers ? " (" + std::to_string(layers) + ")" : std::string()) + ", found " +
                     std::to_string(found));
            return {};
        }
        for (const std::int64_t number : take(m_file.integerArray(full(key))))
            append(static_cast<std::uint64_t>(number));
        return numbers;
    }
    const std::uint64_t number = take(m_file.unsignedValue(full(key)));
    if (!m_status)
        return {};
    append(number);
    numbers.resize(std::max(layers, 1U), numbers[0]);
    return numbers;
}

std::vector<bool> GgufConfigReader::localLayers(const std::string &key, std::uint32_t layers,
                                                std::uint32_t period)
{
    std::vector<bool> local(layers, true);
    const GgufValue *value = m_file.find(full(key));
    const auto *array = value ? std::get_if<GgufArray>(&value->value) : nullptr;
    if (!array) {
        const std::uint32_t every =
            value ? countOrNone(key, std::numeric_limits<std::uint32_t>::max()) : period;
        for (std::uint32_t layer = 0; every > 0 && layer < layers; ++layer)
            local[layer] = (layer + 1) % every != 0;
        return local;
    }
    const auto isUsable = array->type == GgufType::Bool || array->type == GgufType::U8;
    if (!isUsable || array->count < layers) {
        fail(ErrorCode::BadFile, key,
             "expected a number, or true or false for each of " + std::to_string(layers) + " layers");
        return local;
    }
    for (std::uint32_t layer = 0; layer < layers; ++layer)
        local[layer] = array->bytes[layer] != std::byte{0};
    return local;
}

double GgufConfigReader::floating(const std::string &key, std::optional<double> fallback)
{
    if (!m_status || (!has(key) && (fallback || m_keys == Presence::Optional)))
        return fallback.value_or(0.0);
    const double value = take(m_file.floatValue(full(key)));
    if (m_status && !(std::isfinite(value) && value >= 0 && value <= std::numeric_limits<float>::max()))
        fail(ErrorCode::BadFile, key, "expected a finite number from 0, found " + std::to_string(value));
    return value;
}

std::string GgufConfigReader::string(const std::string &key, std::string fallback)
{
    if (!m_status || !has(key))
        return fallback;
    return sanitizedUtf8(take(m_file.stringValue(full(key))));
}

} // namespace tokenloupe
