// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/value.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/operations.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tokenloupe::jinja {

namespace {

constexpr std::size_t absent = static_cast<std::size_t>(-1);
/// Up to here looking through all keys is quicker than a table.
constexpr std::size_t fewEntries = 8;
constexpr std::size_t probesPerStep = 8;

std::size_t combine(std::size_t seed, std::size_t hash)
{
    return seed ^ (hash + 0x9E3779B97F4A7C15ULL + (seed << 6) + (seed >> 2));
}

/// Equal numbers hash alike, whatever their type.
std::size_t hashOfNumber(const Value &value)
{
    if (value.isInteger())
        return std::hash<std::int64_t>()(value.integer());
    const double real = value.as<double>();
    if (std::trunc(real) == real && std::fabs(real) < 9.2e18)
        return std::hash<std::int64_t>()(static_cast<std::int64_t>(real));
    return std::hash<double>()(real);
}

} // namespace

Undefined undefinedNamed(std::string_view name)
{
    return undefinedBecause("'" + std::string(name) + "' is undefined");
}

Undefined undefinedBecause(std::string hint)
{
    return Undefined{std::make_shared<const std::string>(std::move(hint))};
}

SequencePtr makeSequence(Meter &meter, Sequence::Kind kind, std::vector<Value> items)
{
    meter.checkItems(items.size());
    auto sequence = std::make_shared<Sequence>();
    sequence->kind = kind;
    sequence->items = std::move(items);
    for (const Value &item : sequence->items)
        sequence->depth = std::max(sequence->depth, depthOf(item) + 1);
    meter.checkNesting(sequence->depth);
    return sequence;
}

SequencePtr makeList(Meter &meter, std::vector<Value> items)
{
    return makeSequence(meter, Sequence::Kind::List, std::move(items));
}

SequencePtr makeTuple(Meter &meter, std::vector<Value> items)
{
    return makeSequence(meter, Sequence::Kind::Tuple, std::move(items));
}

std::uint32_t depthOf(const Value &value)
{
    if (const auto *sequence = value.tryAs<SequencePtr>())
        return (*sequence)->depth;
    if (const auto *dictionary = value.tryAs<DictionaryPtr>())
        return (*dictionary)->depth();
    if (const auto *object = value.tryAs<ObjectPtr>())
        return (*object)->depth;
    return 0;
}

std::string_view typeName(const Value &value)
{
    if (value.isUndefined())
        return "Undefined";
    if (value.isNone())
        return "NoneType";
    if (value.is<bool>())
        return "bool";
    if (value.is<std::int64_t>())
        return "int";
    if (value.is<double>())
        return "float";
    if (value.isText())
        return value.text().markup ? "Markup" : "str";
    if (const auto *sequence = value.tryAs<SequencePtr>())
        return (*sequence)->kind == Sequence::Kind::List ? "list" : "tuple";
    if (value.is<DictionaryPtr>())
        return "dict";
    if (value.is<Namespace *>())
        return "Namespace";
    if (value.is<Macro *>())
        return "Macro";
    if (value.is<Loop *>())
        return "LoopContext";
    switch (value.as<ObjectPtr>()->type) {
    case Object::Type::Range:
        return "range";
    case Object::Type::View:
        return objectAs<ViewObject>(value, Object::Type::View)->name;
    case Object::Type::Iterator:
        return "generator";
    case Object::Type::Method:
        return "builtin_function_or_method";
    case Object::Type::Function:
        return "function";
    case Object::Type::Cycler:
        return "Cycler";
    case Object::Type::Joiner:
        return "Joiner";
    }
    return "object";
}

bool isHashable(Meter &meter, const Value &value)
{
    meter.step();
    if (value.is<DictionaryPtr>() || objectAs<ViewObject>(value, Object::Type::View))
        return false;
    const auto *sequence = value.tryAs<SequencePtr>();
    if (!sequence)
        return true;
    const auto &items = (*sequence)->items;
    return (*sequence)->kind != Sequence::Kind::List &&
           std::all_of(items.begin(), items.end(),
                       [&](const Value &item) { return isHashable(meter, item); });
}

std::size_t hashOf(Meter &meter, const Value &value)
{
    meter.step();
    if (value.isNumber())
        return hashOfNumber(value);
    if (value.isText()) {
        meter.work(value.text().bytes.size());
        return std::hash<std::string_view>()(value.text().bytes);
    }
    if (const auto *sequence = value.tryAs<SequencePtr>()) {
        if ((*sequence)->kind == Sequence::Kind::List)
            fail("unhashable type: 'list'");
        std::size_t hash = 17;
        for (const Value &item : (*sequence)->items)
            hash = combine(hash, hashOf(meter, item));
        return hash;
    }
    if (value.isNone() || value.isUndefined())
        return value.isNone() ? 3 : 5;
    if (const auto *space = value.tryAs<Namespace *>())
        return std::hash<const void *>()(*space);
    if (const auto *macro = value.tryAs<Macro *>())
        return std::hash<const void *>()(*macro);
    if (const auto *loop = value.tryAs<Loop *>())
        return std::hash<const void *>()(*loop);
    if (!isHashable(meter, value))
        fail("unhashable type: '" + std::string(typeName(value)) + "'");
    // Ranges and methods compare by content: one hash for all is right, if slow.
    return 7;
}

template <class Matches>
std::size_t Dictionary::search(Meter &meter, std::size_t hash, Matches matches) const
{
    std::size_t probes = 0;
    std::size_t found = absent;
    const auto isAt = [&](std::size_t index) {
        ++probes;
        return m_hashes[index] == hash && matches(m_entries[index].first);
    };
    if (m_table.empty()) {
        for (std::size_t i = 0; i < m_entries.size() && found == absent; ++i) {
            if (isAt(i))
                found = i;
        }
    } else {
        const std::size_t mask = m_table.size() - 1;
        for (std::size_t slot = hash & mask; m_table[slot] != 0 && found == absent;
             slot = (slot + 1) & mask) {
            if (isAt(m_table[slot] - 1))
                found = m_table[slot] - 1;
        }
    }
    meter.step(probes / probesPerStep); // whoever makes keys collide pays for it
    return found;
}

std::size_t Dictionary::indexOf(Meter &meter, const Value &key, std::size_t hash) const
{
    return search(meter, hash, [&](const Value &other) { return areEqual(meter, other, key); });
}

const Value *Dictionary::find(Meter &meter, const Value &key) const
{
    const std::size_t index = indexOf(meter, key, hashOf(meter, key));
    return index == absent ? nullptr : &m_entries[index].second;
}

const Value *Dictionary::findName(Meter &meter, std::string_view key) const
{
    meter.work(key.size());
    const std::size_t index = search(meter, std::hash<std::string_view>()(key), [&](const Value &other) {
        meter.step();
        return other.isText() && other.text().bytes == key;
    });
    return index == absent ? nullptr : &m_entries[index].second;
}

void Dictionary::insert(Meter &meter, Value key, Value value)
{
    meter.step();
    const std::uint32_t depth = std::max(depthOf(key), depthOf(value)) + 1;
    meter.checkNesting(depth);
    m_depth = std::max(m_depth, depth);
    const std::size_t hash = hashOf(meter, key);
    const std::size_t index = indexOf(meter, key, hash);
    if (index != absent) {
        m_entries[index].second = std::move(value);
        return;
    }
    m_entries.emplace_back(std::move(key), std::move(value));
    m_hashes.push_back(hash);
    if (m_entries.size() > fewEntries)
        growTable();
}

void Dictionary::growTable()
{
    const auto place = [this](std::size_t entry) {
        const std::size_t mask = m_table.size() - 1;
        std::size_t slot = m_hashes[entry] & mask;
        while (m_table[slot] != 0)
            slot = (slot + 1) & mask;
        m_table[slot] = static_cast<std::uint32_t>(entry + 1);
    };
    if (m_entries.size() * 2 <= m_table.size()) {
        place(m_entries.size() - 1);
        return;
    }
    m_table.assign(std::max<std::size_t>(m_table.size() * 2, fewEntries * 4), 0);
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        place(i);
}

} // namespace tokenloupe::jinja
