// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

using FieldNames = std::initializer_list<std::string_view>; ///< one field under all its names

/// What the fields belong to, for messages.
struct JsonSource
{
    std::string name;                             ///< "Llama-3.1-8B"
    std::string operation;                        ///< "read shape Llama-3.1-8B"
    ErrorCode wrong = ErrorCode::InvalidArgument; ///< a field that is not what it must be
};

/// Reads the fields of a JSON object. null is the same as absent. The first error stays, and every later read
/// gives its fallback (or the lowest allowed number), so that callers check once.
class JsonFields
{
public:
    JsonFields(const nlohmann::json &object, JsonSource source, std::string path = {});

    bool has(FieldNames names) const { return find(names) != nullptr; }
    bool isNull(std::string_view name) const; ///< stated as null, not left out
    /// Between `lowest` and `highest`. Missing: `fallback`, or an error where there is none.
    std::uint64_t number(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                         std::optional<std::uint64_t> fallback = {});
    /// A finite number, as large as a float can be; missing: `fallback`.
    double real(FieldNames names, double fallback);
    /// The same, which must be above 0 where it is stated.
    double positive(FieldNames names, double fallback);
    /// Nothing, or that many finite numbers above 0.
    std::vector<float> positives(FieldNames names, std::uint64_t count);
    bool flag(FieldNames names, bool fallback);
    std::string text(FieldNames names, std::string fallback);
    /// One number for each of `layers` layers, from a list, or the same for all from a number.
    std::vector<std::uint64_t> perLayer(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                                        std::uint64_t layers, std::uint64_t fallback);
    std::optional<std::vector<std::string>> texts(FieldNames names);
    std::optional<std::vector<std::uint64_t>> numbers(FieldNames names, std::uint64_t highest);
    /// An object inside this one; null where there is none.
    const nlohmann::json *object(std::string_view name);
    const nlohmann::json *find(FieldNames names) const;

    void fail(ErrorCode code, std::string_view field, const std::string &message);
    /// Takes over what went wrong in a part of this object.
    void take(const JsonFields &part);
    bool ok() const { return m_status.has_value(); }
    const Status &status() const { return m_status; }
    const JsonSource &source() const { return m_source; }
    const std::string &path() const { return m_path; }

private:
    std::uint64_t numberOf(const nlohmann::json &value, std::string_view field, std::uint64_t lowest,
                           std::uint64_t highest);
    double realOf(const nlohmann::json &value, std::string_view field);
    void expected(std::string_view field, const std::string &what, const nlohmann::json *found);

    const nlohmann::json &m_object;
    JsonSource m_source;
    std::string m_path; ///< "moe." in front of the names of its fields
    Status m_status;
};

} // namespace tokenloupe
