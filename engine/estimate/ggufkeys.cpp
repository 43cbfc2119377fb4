// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/ggufkeys.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

GgufKeys::GgufKeys(const GgufFile &file, std::string architecture)
    : m_file(file)
    , m_architecture(std::move(architecture))
{}

void GgufKeys::fail(std::string_view key, const std::string &message)
{
    if (ok())
        m_status = makeError(ErrorCode::BadFile, "read " + m_file.name(),
                             "key " + quotedForMessage(full(key)) + ": " + message);
}

std::uint64_t GgufKeys::checked(std::string_view key, std::int64_t value, std::uint64_t lowest,
                                std::uint64_t highest)
{
    if (value >= 0 && static_cast<std::uint64_t>(value) >= lowest &&
        static_cast<std::uint64_t>(value) <= highest)
        return static_cast<std::uint64_t>(value);
    fail(key, "expected a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest) +
                  ", found " + std::to_string(value));
    return lowest;
}

const GgufArray *GgufKeys::array(std::string_view key) const
{
    const GgufValue *value = m_file.find(full(key));
    return value ? std::get_if<GgufArray>(&value->value) : nullptr;
}

std::uint64_t GgufKeys::number(std::string_view key, std::uint64_t lowest, std::uint64_t highest,
                               std::optional<std::uint64_t> fallback)
{
    if (!has(key)) {
        if (!fallback)
            fail(key, "expected a whole number from " + std::to_string(lowest) + " to " +
                          std::to_string(highest) + ", found nothing");
        return fallback.value_or(lowest);
    }
    const Result<std::uint64_t> value = m_file.unsignedValue(full(key));
    if (!value) {
        if (ok())
            m_status = tl::unexpected(value.error());
        return lowest;
    }
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return checked(key, static_cast<std::int64_t>(std::min(*value, most)), lowest, highest);
}

std::vector<std::uint64_t> GgufKeys::perLayer(std::string_view key, std::uint64_t lowest,
                                              std::uint64_t highest, std::uint64_t layers,
                                              std::uint64_t fallback)
{
    std::vector<std::uint64_t> all(layers, fallback);
    const GgufArray *list = array(key);
    if (!list) {
        if (has(key))
            all.assign(layers, number(key, lowest, highest));
        return all;
    }
    if (list->count != layers) {
        fail(key, "expected one number for each of the " + std::to_string(layers) + " layers, found " +
                      std::to_string(list->count));
        return all;
    }
    const bool isBool = list->type == GgufType::Bool;
    const auto numbers = isBool ? Result<std::vector<std::int64_t>>() : m_file.integerArray(full(key));
    if (!numbers) {
        if (ok())
            m_status = tl::unexpected(numbers.error());
        return all;
    }
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        const std::int64_t value = isBool ? (list->bytes[layer] != std::byte{0}) : (*numbers)[layer];
        all[layer] = checked(key, value, lowest, highest);
    }
    return all;
}

} // namespace tokenloupe
