// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Builds a JSON value from a parser's events; nesting is bounded, of a key that comes twice the last counts.
class JsonTree
{
public:
    static constexpr std::size_t deepest = 64;

    /// False: too deep.
    bool open(nlohmann::json container);
    void close() { m_open.pop_back(); }
    void key(std::string key) { m_key = std::move(key); }
    void value(nlohmann::json value) { put(std::move(value)); }
    std::size_t depth() const { return m_open.size(); }
    nlohmann::json take() { return std::move(m_root); }

private:
    nlohmann::json &put(nlohmann::json value);

    nlohmann::json m_root;
    std::vector<nlohmann::json *> m_open; // containers; they stay where they are while they are open
    std::string m_key;
};

/// The value of a whole JSON text; `name` is the file's for messages.
Result<nlohmann::json> parseJsonTree(std::string_view text, const std::string &name);

/// An unsigned integer, or nothing.
std::optional<std::uint64_t> unsignedOf(const nlohmann::json &value);
/// Members of an object with a type: `fallback` where absent, null or of another type.
std::string textMember(const nlohmann::json &object, const char *key, std::string fallback = {});
std::optional<bool> flagMember(const nlohmann::json &object, const char *key);
/// The member, or null.
const nlohmann::json &member(const nlohmann::json &object, const char *key);

} // namespace tokenloupe
