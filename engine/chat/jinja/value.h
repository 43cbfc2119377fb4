// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/text.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tokenloupe::jinja {

class Meter;
struct Sequence;
class Dictionary;
struct Object;
struct Namespace;
struct Macro;
struct Loop;

/// A name that does not exist. Prints as nothing, counts as false and empty; anything else fails with `hint`.
struct Undefined
{
    std::shared_ptr<const std::string> hint;
};

struct None
{
    bool operator==(const None &) const = default;
};

using SequencePtr = std::shared_ptr<const Sequence>;
using DictionaryPtr = std::shared_ptr<const Dictionary>;
using ObjectPtr = std::shared_ptr<Object>;

/// A value of the template language. Strings, lists and dicts cannot be changed once made, so they hold no
/// cycles and are shared. What can refer to itself (namespaces, macros, loops) belongs to the evaluator and
/// is only pointed to.
class Value
{
public:
    using Data = std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, SequencePtr,
                              DictionaryPtr, ObjectPtr, Namespace *, Macro *, Loop *>;

    Value()
        : m_data(None{})
    {}
    // A template instead of one constructor a type: a pointer must not turn into a bool.
    template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) Value(T &&data)
        : m_data(std::forward<T>(data))
    {}

    template <class T>
    bool is() const
    {
        return std::holds_alternative<T>(m_data);
    }
    template <class T>
    const T &as() const
    {
        return std::get<T>(m_data);
    }
    template <class T>
    const T *tryAs() const
    {
        return std::get_if<T>(&m_data);
    }

    bool isUndefined() const { return is<Undefined>(); }
    bool isNone() const { return is<None>(); }
    bool isText() const { return is<TextPtr>(); }
    const Text &text() const { return *as<TextPtr>(); }
    bool isInteger() const { return is<bool>() || is<std::int64_t>(); } ///< as in Python, a bool is one
    bool isNumber() const { return isInteger() || is<double>(); }
    std::int64_t integer() const { return is<bool>() ? std::int64_t{as<bool>()} : as<std::int64_t>(); }
    double real() const { return is<double>() ? as<double>() : static_cast<double>(integer()); }

private:
    Data m_data;
};

/// A list or a tuple.
struct Sequence
{
    enum class Kind { List, Tuple, Group }; ///< Group: the (grouper, list) pairs of groupby
    Kind kind = Kind::List;
    std::vector<Value> items;
    std::uint32_t depth = 1; ///< levels of containers, itself included
};

/// A dict: keys in the order of insertion, equality of keys as in Python (1, 1.0 and True are one key).
class Dictionary
{
public:
    using Entry = std::pair<Value, Value>;

    const std::vector<Entry> &entries() const { return m_entries; }
    std::size_t size() const { return m_entries.size(); }
    /// Null when absent. Fails for keys that cannot be hashed.
    const Value *find(Meter &meter, const Value &key) const;
    const Value *findName(Meter &meter, std::string_view key) const;
    /// Replaces the value of an equal key. Only before the dictionary becomes a value.
    void insert(Meter &meter, Value key, Value value);
    std::uint32_t depth() const { return m_depth; }

private:
    template <class Matches>
    std::size_t search(Meter &meter, std::size_t hash, Matches matches) const;
    std::size_t indexOf(Meter &meter, const Value &key, std::size_t hash) const;
    void growTable();

    std::vector<Entry> m_entries;
    std::vector<std::size_t> m_hashes;  // of each entry
    std::vector<std::uint32_t> m_table; // open addressing, index + 1 of an entry; empty while there are few
    std::uint32_t m_depth = 1;
};

Undefined undefinedNamed(std::string_view name);
Undefined undefinedBecause(std::string hint);

SequencePtr makeList(Meter &meter, std::vector<Value> items);
SequencePtr makeTuple(Meter &meter, std::vector<Value> items);
SequencePtr makeSequence(Meter &meter, Sequence::Kind kind, std::vector<Value> items);

/// Levels of containers below and including this value; 0 for what holds nothing.
std::uint32_t depthOf(const Value &value);
/// The name of the type in messages: "str", "dict", "int", …
std::string_view typeName(const Value &value);
/// Whether dicts may have it as a key.
bool isHashable(Meter &meter, const Value &value);
std::size_t hashOf(Meter &meter, const Value &value);

} // namespace tokenloupe::jinja
