// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/methods.h"

#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/operations.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

namespace {

const Dictionary &dictionaryOf(const Value &self)
{
    return *self.as<DictionaryPtr>();
}

Value dictGet(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("get", arguments, {"key", "default"}, 1);
    if (const Value *found = dictionaryOf(self).find(evaluator.meter(), *bound[0]))
        return *found;
    return bound.has(1) ? *bound[1] : Value();
}

Value dictItems(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("items", arguments, {});
    std::vector<Value> items;
    evaluator.meter().step(dictionaryOf(self).size());
    items.reserve(dictionaryOf(self).size());
    for (const auto &[key, value] : dictionaryOf(self).entries())
        items.emplace_back(makeTuple(evaluator.meter(), {key, value}));
    return ObjectPtr(
        std::make_shared<ViewObject>("dict_items", makeList(evaluator.meter(), std::move(items))));
}

Value dictKeys(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("keys", arguments, {});
    return ObjectPtr(std::make_shared<ViewObject>("dict_keys", iterate(evaluator.meter(), self)));
}

Value dictValues(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("values", arguments, {});
    std::vector<Value> items;
    evaluator.meter().step(dictionaryOf(self).size());
    for (const auto &[key, value] : dictionaryOf(self).entries())
        items.push_back(value);
    return ObjectPtr(
        std::make_shared<ViewObject>("dict_values", makeList(evaluator.meter(), std::move(items))));
}

/// Nothing can change a list or a dict, so a copy is the same value.
Value copied(Evaluator &, const Value &self, const Arguments &arguments)
{
    const Bound bound("copy", arguments, {});
    return self;
}

Value sequenceCount(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("count", arguments, {"value"}, 1);
    std::int64_t count = 0;
    for (const Value &item : self.as<SequencePtr>()->items)
        count += areEqual(evaluator.meter(), item, *bound[0]) ? 1 : 0;
    return count;
}

Value sequenceIndex(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("index", arguments, {"value", "start", "stop"}, 1);
    const auto &items = self.as<SequencePtr>()->items;
    const auto length = static_cast<std::int64_t>(items.size());
    const auto place = [length](std::int64_t given) {
        return std::clamp<std::int64_t>(given < 0 ? given + length : given, 0, length);
    };
    for (std::int64_t i = place(bound.integer(1, 0)); i < place(bound.integer(2, length)); ++i) {
        if (areEqual(evaluator.meter(), items[static_cast<std::size_t>(i)], *bound[0]))
            return i;
    }
    fail("index() finds no such value in the list");
}

Value loopCycle(Evaluator &, const Value &self, const Arguments &arguments)
{
    if (arguments.positional.empty() || !arguments.named.empty())
        fail("loop.cycle() needs one or more values");
    return arguments.positional[self.as<Loop *>()->index % arguments.positional.size()];
}

Value loopChanged(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    Loop &loop = *self.as<Loop *>();
    const std::vector<Value> &now = arguments.positional;
    bool same = loop.hasChanged && loop.changed.size() == now.size();
    for (std::size_t i = 0; same && i < now.size(); ++i)
        same = areEqual(evaluator.meter(), loop.changed[i], now[i]);
    loop.changed = now;
    loop.hasChanged = true;
    return !same;
}

Value cyclerNext(Evaluator &, const Value &self, const Arguments &arguments)
{
    const Bound bound("next", arguments, {});
    const auto cycler = objectAs<CyclerObject>(self, Object::Type::Cycler);
    const std::size_t at = cycler->position;
    cycler->position = (at + 1) % cycler->items->items.size();
    return cycler->items->items[at];
}

Value cyclerReset(Evaluator &, const Value &self, const Arguments &arguments)
{
    const Bound bound("reset", arguments, {});
    objectAs<CyclerObject>(self, Object::Type::Cycler)->position = 0;
    return {};
}

constexpr std::array<MethodEntry, 10> dictMethods{{
    {"get", dictGet},
    {"items", dictItems},
    {"keys", dictKeys},
    {"values", dictValues},
    {"copy", copied},
    {"clear"},
    {"pop"},
    {"popitem"},
    {"setdefault"},
    {"update"},
}};
constexpr std::array<MethodEntry, 11> listMethods{{
    {"count", sequenceCount},
    {"index", sequenceIndex},
    {"copy", copied},
    {"append"},
    {"clear"},
    {"pop"},
    {"reverse"},
    {"insert"},
    {"sort"},
    {"extend"},
    {"remove"},
}};
constexpr std::array<MethodEntry, 2> tupleMethods{{{"count", sequenceCount}, {"index", sequenceIndex}}};
constexpr std::array<MethodEntry, 2> loopMethods{{{"cycle", loopCycle}, {"changed", loopChanged}}};
constexpr std::array<MethodEntry, 2> cyclerMethods{{{"next", cyclerNext}, {"reset", cyclerReset}}};

const MethodEntry *findIn(std::span<const MethodEntry> methods, std::string_view name)
{
    const auto found = std::find_if(methods.begin(), methods.end(),
                                    [name](const MethodEntry &entry) { return entry.name == name; });
    return found == methods.end() ? nullptr : &*found;
}

} // namespace

std::span<const MethodEntry> containerMethods(const Value &object)
{
    if (object.is<DictionaryPtr>())
        return dictMethods;
    if (const auto *sequence = object.tryAs<SequencePtr>())
        return (*sequence)->kind == Sequence::Kind::List ? std::span<const MethodEntry>(listMethods)
                                                         : tupleMethods;
    if (object.is<Loop *>())
        return loopMethods;
    if (objectAs<CyclerObject>(object, Object::Type::Cycler))
        return cyclerMethods;
    return {};
}

const MethodEntry *findMethod(const Value &object, std::string_view name)
{
    if (!object.isText())
        return findIn(containerMethods(object), name);
    if (const MethodEntry *found = findIn(textMethods(), name))
        return found;
    return findIn(textPropertyMethods(), name);
}

} // namespace tokenloupe::jinja
