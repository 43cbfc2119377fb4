// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/utf8.h"
#include "engine/model/architecturespec.h"
#include "engine/model/gguffile.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tokenloupe {

/// Far above any model. Layers without tensors (of a header alone) are bounded by it.
inline constexpr std::uint64_t maxLayersWithoutTensors = 1U << 16;

/// Reads the keys of one architecture from a GGUF file; the first error stays, later reads then do nothing.
class GgufConfigReader
{
public:
    GgufConfigReader(const GgufFile &file, std::string prefix, Presence keys)
        : m_file(file)
        , m_prefix(std::move(prefix))
        , m_keys(keys)
    {}

    /// A number from 1 to `highest`. Missing: `fallback`, or an error where the key is needed and there is
    /// none.
    std::uint32_t count(const std::string &key, std::uint64_t highest,
                        std::optional<std::uint32_t> fallback = {})
    {
        const std::vector<std::uint32_t> values = perLayer(key, highest, 0, fallback);
        if (values.empty())
            return 0;
        if (std::any_of(values.begin(), values.end(), [&](std::uint32_t v) { return v != values[0]; }))
            fail(ErrorCode::Unsupported, key, "layers that differ in it are not supported");
        return values[0];
    }

    /// A number up to `highest` that may be 0, which is also what a missing one is.
    std::uint32_t countOrNone(const std::string &key, std::uint64_t highest)
    {
        if (!m_status || !has(key))
            return 0;
        const std::uint64_t number = take(m_file.unsignedValue(full(key)));
        if (number > highest)
            fail(ErrorCode::BadFile, key,
                 "expected 0 to " + std::to_string(highest) + ", found " + std::to_string(number));
        return static_cast<std::uint32_t>(std::min(number, highest));
    }

    /// One number for each of `layers` layers, stored as one or as an array. `layers` 0: any number of them.
    std::vector<std::uint32_t> perLayer(const std::string &key, std::uint64_t highest, std::uint32_t layers,
                                        std::optional<std::uint32_t> fallback = {});
    /// For each layer whether it has the window: stored as an array, or as a period of which the last layer
    /// sees everything (0: none does).
    std::vector<bool> localLayers(const std::string &key, std::uint32_t layers, std::uint32_t period);
    double floating(const std::string &key, std::optional<double> fallback);
    std::string string(const std::string &key, std::string fallback);
    bool has(const std::string &key) const { return m_file.find(full(key)) != nullptr; }

    void fail(ErrorCode code, const std::string &key, const std::string &message)
    {
        if (m_status)
            m_status = makeError(code, "read " + m_file.name(),
                                 "key " + quotedForMessage(full(key)) + ": " + message);
    }
    const Status &status() const { return m_status; }

private:
    std::string full(const std::string &key) const { return m_prefix + "." + key; }
    template <class T>
    T take(Result<T> result)
    {
        if (result)
            return *result;
        if (m_status)
            m_status = tl::unexpected(result.error());
        return T{};
    }

    const GgufFile &m_file;
    std::string m_prefix;
    Presence m_keys;
    Status m_status;
};

} // namespace tokenloupe
