// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/jsontree.h"

namespace tokenloupe {

using nlohmann::json;

namespace {

/// A parser's events as one tree.
class TreeEvents final : public nlohmann::json_sax<json>
{
public:
    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t &) override { return put(value); }
    bool string(string_t &value) override { return put(std::move(value)); }
    bool binary(binary_t &) override { return false; } // JSON has none
    bool start_object(std::size_t) override { return open(json::object()); }
    bool key(string_t &key) override
    {
        m_tree.key(std::move(key));
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &error) override
    {
        m_fault = error.what();
        return false;
    }

    json take() { return m_tree.take(); }
    const std::string &fault() const { return m_fault; }

private:
    bool put(json value)
    {
        m_tree.value(std::move(value));
        return true;
    }
    bool open(json container)
    {
        if (m_tree.open(std::move(container)))
            return true;
        m_fault = "is nested more than " + std::to_string(JsonTree::deepest) + " levels deep";
        return false;
    }
    bool close()
    {
        m_tree.close();
        return true;
    }

    JsonTree m_tree;
    std::string m_fault;
};

} // namespace

json &JsonTree::put(json value)
{
    if (m_open.empty())
        return m_root = std::move(value);
    json &parent = *m_open.back();
    if (parent.is_object())
        return parent[m_key] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
}

bool JsonTree::open(json container)
{
    if (m_open.size() == deepest)
        return false;
    m_open.push_back(&put(std::move(container)));
    return true;
}

Result<json> parseJsonTree(std::string_view text, const std::string &name)
{
    TreeEvents events;
    if (!json::sax_parse(text.begin(), text.end(), &events))
        return makeError(ErrorCode::BadFile, "read " + name, "is not valid JSON: " + events.fault());
    return events.take();
}

std::optional<std::uint64_t> unsignedOf(const json &value)
{
    if (!value.is_number_unsigned())
        return std::nullopt;
    return value.get<std::uint64_t>();
}

const json &member(const json &object, const char *key)
{
    static const json nothing;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : nothing;
}

std::string textMember(const json &object, const char *key, std::string fallback)
{
    const json &value = member(object, key);
    return value.is_string() ? value.get<std::string>() : std::move(fallback);
}

std::optional<bool> flagMember(const json &object, const char *key)
{
    const json &value = member(object, key);
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

} // namespace tokenloupe
