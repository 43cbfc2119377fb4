// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/attributegetter.h"
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/valuetests.h"

#include <array>

namespace tokenloupe::jinja {

namespace {

Value generator(Meter &meter, std::vector<Value> items)
{
    return ObjectPtr(std::make_shared<IteratorObject>(makeList(meter, std::move(items))));
}

std::string nameOf(const Value &value, std::string_view what)
{
    requireDefined(value);
    if (!value.isText())
        fail("expected the name of a " + std::string(what) + ", found '" + std::string(typeName(value)) +
             "'");
    return value.text().bytes;
}

Arguments withoutFirst(const Arguments &arguments, std::size_t count)
{
    Arguments rest;
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                           arguments.positional.end());
    rest.named = arguments.named;
    return rest;
}

Value mapByAttribute(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Value *attribute = nullptr;
    const Value *otherwise = nullptr;
    for (const auto &[name, value] : arguments.named) {
        if (name->bytes == "attribute")
            attribute = &value;
        else if (name->bytes == "default")
            otherwise = &value;
        else
            fail("map() has no argument '" + name->bytes + "'");
    }
    if (!attribute)
        fail("map() needs the name of a filter or an attribute");
    const AttributeGetter getter(evaluator, attribute, otherwise);
    std::vector<Value> mapped;
    for (const SequencePtr sequence = iterate(evaluator.meter(), input); const Value &item : sequence->items)
        mapped.push_back(getter.get(item));
    return generator(evaluator.meter(), std::move(mapped));
}

Value mapFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    Meter &meter = evaluator.meter();
    const Meter::Level level(meter); // map('map', 'map', …)
    if (!isTrue(input))
        return generator(meter, {});
    if (arguments.positional.empty())
        return mapByAttribute(evaluator, input, arguments);
    const std::string name = nameOf(arguments.positional[0], "filter");
    const FilterEntry *filter = findFilter(name);
    if (!filter)
        fail("there is no filter named '" + name + "'");
    const Arguments rest = withoutFirst(arguments, 1);
    std::vector<Value> mapped;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items) {
        meter.step();
        mapped.push_back(filter->function(evaluator, item, rest));
    }
    return generator(meter, std::move(mapped));
}

enum class Keep { Matching, Others };
enum class Subject { Item, Attribute };

template <Keep keep, Subject subject>
Value selectFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    Meter &meter = evaluator.meter();
    if (!isTrue(input))
        return generator(meter, {});
    const std::size_t testAt = subject == Subject::Attribute ? 1 : 0;
    if (arguments.positional.size() < testAt)
        fail("selectattr() and rejectattr() need the name of an attribute");
    const AttributeGetter getter(evaluator, testAt == 1 ? &arguments.positional[0] : nullptr);
    const TestEntry *test = nullptr;
    Arguments rest;
    if (arguments.positional.size() > testAt) {
        const std::string name = nameOf(arguments.positional[testAt], "test");
        test = findTest(name);
        if (!test)
            fail("there is no test named '" + name + "'");
        rest = withoutFirst(arguments, testAt + 1);
    }
    std::vector<Value> kept;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items) {
        meter.step();
        const Value value = getter.get(item);
        const bool matches = test ? test->function(evaluator, value, rest) : isTrue(value);
        if (matches == (keep == Keep::Matching))
            kept.push_back(item);
    }
    return generator(meter, std::move(kept));
}

/// object.name without looking for a key of that name.
Value attributeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("attr", arguments, {"name"}, 1);
    requireDefined(input);
    const TextPtr name = toText(evaluator.meter(), *bound[0]);
    if (auto found = builtinAttribute(evaluator, input, name))
        return std::move(*found);
    return undefinedBecause("'" + std::string(typeName(input)) + " object' has no attribute " +
                            shownRepr(name));
}

} // namespace

std::span<const FilterEntry> selectionFilters()
{
    static constexpr std::array<FilterEntry, 6> filters{{
        {"map", mapFilter},
        {"select", selectFilter<Keep::Matching, Subject::Item>},
        {"reject", selectFilter<Keep::Others, Subject::Item>},
        {"selectattr", selectFilter<Keep::Matching, Subject::Attribute>},
        {"rejectattr", selectFilter<Keep::Others, Subject::Attribute>},
        {"attr", attributeFilter},
    }};
    return filters;
}

} // namespace tokenloupe::jinja
