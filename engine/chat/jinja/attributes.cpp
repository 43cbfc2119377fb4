// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

Undefined unsafeAttribute(const Value &object, std::string_view name)
{
    return undefinedBecause("access to attribute '" + std::string(name) + "' of '" +
                            std::string(typeName(object)) + "' object is unsafe");
}

Undefined missing(const Value &object, const Value &key)
{
    if (key.isText())
        return undefinedBecause("'" + std::string(typeName(object)) + " object' has no attribute " +
                                shownRepr(key));
    return undefinedBecause(std::string(typeName(object)) + " object has no element " + shownRepr(key));
}

std::optional<Value> loopAttribute(Meter &meter, Loop &loop, std::string_view name)
{
    const auto index = static_cast<std::int64_t>(loop.index);
    const auto count = static_cast<std::int64_t>(loop.items->items.size());
    const auto depth = static_cast<std::int64_t>(loop.depth);
    meter.step();
    if (name == "index")
        return index + 1;
    if (name == "index0")
        return index;
    if (name == "revindex")
        return count - index;
    if (name == "revindex0")
        return count - index - 1;
    if (name == "first")
        return index == 0;
    if (name == "last")
        return index + 1 >= count;
    if (name == "length")
        return count;
    if (name == "depth")
        return depth + 1;
    if (name == "depth0")
        return depth;
    if (name == "previtem") {
        if (index == 0)
            return undefinedBecause("there is no previous item");
        return loop.items->items[loop.index - 1];
    }
    if (name == "nextitem") {
        if (index + 1 >= count)
            return undefinedBecause("there is no next item");
        return loop.items->items[loop.index + 1];
    }
    return std::nullopt;
}

std::optional<Value> macroAttribute(Meter &meter, const Macro &macro, std::string_view name)
{
    const MacroDefinition &definition = *macro.definition;
    if (name == "name")
        return definition.name ? Value(definition.name) : Value();
    if (name == "catch_kwargs")
        return definition.usesKwargs;
    if (name == "catch_varargs")
        return definition.usesVarargs;
    if (name == "caller")
        return definition.usesCaller;
    if (name == "arguments") {
        std::vector<Value> names;
        for (const MacroDefinition::Parameter &parameter : definition.parameters)
            names.emplace_back(parameter.name);
        return makeTuple(meter, std::move(names));
    }
    return std::nullopt;
}

/// The element of a list, a string or a range; nothing when out of range.
std::optional<Value> elementAt(Meter &meter, const Value &object, std::int64_t index)
{
    std::int64_t length = 0;
    const auto range = objectAs<RangeObject>(object, Object::Type::Range);
    if (!object.isText() && !object.is<SequencePtr>() && !range)
        return std::nullopt;
    lengthOf(meter, object, length);
    if (index < 0)
        index += length;
    if (index < 0 || index >= length)
        return std::nullopt;
    const auto at = static_cast<std::size_t>(index);
    if (range)
        return range->start + index * range->step;
    if (!object.isText())
        return object.as<SequencePtr>()->items[at];
    const Text &text = object.text();
    const std::size_t begin = byteOffset(meter, text, at);
    return subText(meter, text, begin, begin + decodeUtf8(text.bytes, begin).length);
}

} // namespace

std::optional<Value> builtinAttribute(Evaluator &evaluator, const Value &object, const TextPtr &name)
{
    const std::string_view bytes = name->bytes;
    if (bytes.starts_with("__") && bytes.ends_with("__") && bytes.size() > 4)
        return unsafeAttribute(object, bytes.substr(0, 60));
    if (const auto *space = object.tryAs<Namespace *>()) {
        const Value *member = (*space)->find(evaluator.meter(), bytes);
        if (!member)
            return std::nullopt;
        return bytes.starts_with("_") ? Value(unsafeAttribute(object, bytes)) : *member;
    }
    if (const auto *loop = object.tryAs<Loop *>()) {
        if (auto found = loopAttribute(evaluator.meter(), **loop, bytes))
            return found;
    }
    if (const auto *macro = object.tryAs<Macro *>())
        return macroAttribute(evaluator.meter(), **macro, bytes);
    if (const auto *sequence = object.tryAs<SequencePtr>();
        sequence && (*sequence)->kind == Sequence::Kind::Group) {
        if (bytes == "grouper" || bytes == "list")
            return (*sequence)->items[bytes == "grouper" ? 0 : 1];
    }
    if (const auto cycler = objectAs<CyclerObject>(object, Object::Type::Cycler);
        cycler && bytes == "current")
        return cycler->items->items[cycler->position];
    if (const MethodEntry *method = findMethod(object, bytes)) {
        if (!method->function)
            return unsafeAttribute(object, bytes);
        return ObjectPtr(std::make_shared<MethodObject>(object, *method));
    }
    return std::nullopt;
}

Value Evaluator::attribute(const Value &object, const TextPtr &name)
{
    requireDefined(object);
    if (auto found = builtinAttribute(*this, object, name))
        return std::move(*found);
    if (const auto *dictionary = object.tryAs<DictionaryPtr>()) {
        if (const Value *value = (*dictionary)->findName(m_meter, name->bytes))
            return *value;
    }
    return missing(object, name);
}

Value Evaluator::item(const Value &object, const Value &key)
{
    requireDefined(object);
    if (const auto *dictionary = object.tryAs<DictionaryPtr>(); dictionary && isHashable(m_meter, key)) {
        if (const Value *value = (*dictionary)->find(m_meter, key))
            return *value;
    }
    if (key.isInteger()) {
        if (auto element = elementAt(m_meter, object, key.integer()))
            return std::move(*element);
    }
    if (key.isText()) {
        if (auto found = builtinAttribute(*this, object, key.as<TextPtr>()))
            return std::move(*found);
    }
    return missing(object, key);
}

Value *Namespace::find(Meter &meter, std::string_view name)
{
    meter.step(members.size() / 32);
    const auto found = std::find_if(members.begin(), members.end(),
                                    [name](const auto &member) { return member.first->bytes == name; });
    return found == members.end() ? nullptr : &found->second;
}

void Namespace::set(Meter &meter, TextPtr name, Value value)
{
    if (Value *member = find(meter, name->bytes))
        *member = std::move(value);
    else
        members.emplace_back(std::move(name), std::move(value));
}

} // namespace tokenloupe::jinja
