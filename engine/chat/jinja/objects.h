// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/ast.h"
#include "engine/chat/jinja/value.h"

#include <string_view>
#include <utility>
#include <vector>

namespace tokenloupe::jinja {

class Evaluator;
class Scope;
struct MethodEntry;
struct FunctionEntry;

/// Values of the rarer types.
struct Object
{
    enum class Type { Range, View, Iterator, Method, Function, Cycler, Joiner };

    Object(Type objectType, std::uint32_t objectDepth)
        : type(objectType)
        , depth(objectDepth)
    {}
    virtual ~Object() = default;

    Type type;
    std::uint32_t depth; ///< levels of containers, itself included
};

struct RangeObject : Object
{
    RangeObject(std::int64_t from, std::int64_t to, std::int64_t by, std::int64_t length)
        : Object(Type::Range, 0)
        , start(from)
        , stop(to)
        , step(by)
        , count(length)
    {}
    std::int64_t start, stop, step, count; ///< count * step does not overflow
};

/// keys(), values() or items() of a dict.
struct ViewObject : Object
{
    ViewObject(std::string_view viewName, SequencePtr viewItems)
        : Object(Type::View, viewItems->depth)
        , name(viewName)
        , items(std::move(viewItems))
    {}
    std::string_view name; ///< "dict_keys", …
    SequencePtr items;
};

/// What filters like map and select give: can be gone through once.
struct IteratorObject : Object
{
    explicit IteratorObject(SequencePtr iteratorItems)
        : Object(Type::Iterator, iteratorItems->depth)
        , items(std::move(iteratorItems))
    {}
    SequencePtr items;
    std::size_t position = 0;
};

struct MethodObject : Object
{
    MethodObject(Value owner, const MethodEntry &method)
        : Object(Type::Method, depthOf(owner) + 1)
        , self(std::move(owner))
        , entry(&method)
    {}
    Value self;
    const MethodEntry *entry;
};

struct FunctionObject : Object
{
    explicit FunctionObject(const FunctionEntry &function)
        : Object(Type::Function, 0)
        , entry(&function)
    {}
    const FunctionEntry *entry;
};

struct CyclerObject : Object
{
    explicit CyclerObject(SequencePtr cycled)
        : Object(Type::Cycler, cycled->depth)
        , items(std::move(cycled))
    {}
    SequencePtr items;
    std::size_t position = 0;
};

struct JoinerObject : Object
{
    explicit JoinerObject(TextPtr text)
        : Object(Type::Joiner, 0)
        , separator(std::move(text))
    {}
    TextPtr separator;
    bool used = false;
};

/// The only thing that a template can change.
struct Namespace
{
    std::vector<std::pair<TextPtr, Value>> members;

    Value *find(Meter &meter, std::string_view name);
    void set(Meter &meter, TextPtr name, Value value);
};

/// A macro, or the block of a call as its `caller`.
struct Macro
{
    const MacroDefinition *definition = nullptr;
    Scope *scope = nullptr; ///< that it was defined in
};

/// `loop` inside of a for.
struct Loop
{
    SequencePtr items;
    std::size_t index = 0;      ///< from 0
    std::size_t depth = 0;      ///< of recursive loops, from 0
    std::vector<Value> changed; ///< arguments of the last loop.changed()
    bool hasChanged = false;    ///< whether there was one
    const Statement *statement = nullptr;
    Scope *scope = nullptr; ///< around the loop; only for recursive ones
};

template <class T>
std::shared_ptr<T> objectAs(const Value &value, Object::Type type)
{
    const ObjectPtr *object = value.tryAs<ObjectPtr>();
    return object && (*object)->type == type ? std::static_pointer_cast<T>(*object) : nullptr;
}

} // namespace tokenloupe::jinja
