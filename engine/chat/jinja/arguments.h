// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/value.h"

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace tokenloupe::jinja {

/// What a call passes.
struct Arguments
{
    std::vector<Value> positional;
    std::vector<std::pair<TextPtr, Value>> named;
};

/// Arguments sorted to the parameters of a built-in function. Fails for too many, unknown and doubled ones.
class Bound
{
public:
    Bound(std::string_view function, const Arguments &arguments,
          std::initializer_list<std::string_view> parameters, std::size_t required = 0);

    bool has(std::size_t index) const { return m_values[index] != nullptr; }
    /// Null when not passed.
    const Value *operator[](std::size_t index) const { return m_values[index]; }
    /// Null when not passed or None; fails when it is no string.
    const TextPtr *text(std::size_t index) const;
    std::int64_t integer(std::size_t index, std::int64_t otherwise) const;
    bool isSet(std::size_t index) const; ///< passed, and true

private:
    [[noreturn]] void failType(std::size_t index, std::string_view expected) const;

    static constexpr std::size_t most = 6;
    std::string_view m_function;
    std::array<std::string_view, most> m_names{};
    std::array<const Value *, most> m_values{};
};

} // namespace tokenloupe::jinja
