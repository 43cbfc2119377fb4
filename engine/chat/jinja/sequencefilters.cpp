// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/attributegetter.h"
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/sorting.h"
#include "engine/chat/jinja/textedit.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

namespace {

Value generator(Meter &meter, std::vector<Value> items)
{
    return ObjectPtr(std::make_shared<IteratorObject>(makeList(meter, std::move(items))));
}

KeyCase keyCaseOf(const Bound &bound, std::size_t index)
{
    return bound.isSet(index) ? KeyCase::AsIs : KeyCase::Folded;
}

/// An item with what it is sorted by.
struct Keyed
{
    Value key, item;
};

void sortKeyed(Meter &meter, std::vector<Keyed> &items, bool reverse)
{
    stableSort(items, [&](const Keyed &a, const Keyed &b) {
        const std::partial_ordering result = order(meter, a.key, b.key);
        return reverse ? result > 0 : result < 0;
    });
}

std::vector<Value> itemsOf(std::vector<Keyed> keyed)
{
    std::vector<Value> items;
    items.reserve(keyed.size());
    for (Keyed &each : keyed)
        items.push_back(std::move(each.item));
    return items;
}

Value firstFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("first", arguments, {});
    if (const auto iterator = objectAs<IteratorObject>(input, Object::Type::Iterator)) {
        if (iterator->position < iterator->items->items.size())
            return iterator->items->items[iterator->position++];
        return undefinedBecause("there is no first item, the sequence was empty");
    }
    if (input.isText() && !input.text().bytes.empty())
        return subText(evaluator.meter(), input.text(), 0, decodeUtf8(input.text().bytes, 0).length);
    const SequencePtr items = iterate(evaluator.meter(), input);
    return items->items.empty() ? Value(undefinedBecause("there is no first item, the sequence was empty"))
                                : items->items.front();
}

Value lastFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("last", arguments, {});
    if (objectAs<IteratorObject>(input, Object::Type::Iterator))
        fail("last() does not work on a generator, make a list of it first");
    const SequencePtr items = iterate(evaluator.meter(), input);
    return items->items.empty() ? Value(undefinedBecause("there is no last item, the sequence was empty"))
                                : items->items.back();
}

Value listFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("list", arguments, {});
    const SequencePtr items = iterate(evaluator.meter(), input);
    return items->kind == Sequence::Kind::List ? items : makeList(evaluator.meter(), items->items);
}

Value reverseFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("reverse", arguments, {});
    Meter &meter = evaluator.meter();
    if (input.isText())
        return slice(meter, input.text(), Value(), Value(), Value(std::int64_t{-1}));
    std::vector<Value> items = iterate(meter, input)->items;
    std::reverse(items.begin(), items.end());
    return generator(meter, std::move(items));
}

Value joinFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("join", arguments, {"d", "attribute"});
    Meter &meter = evaluator.meter();
    const TextPtr separator = bound.has(0) ? toText(meter, *bound[0]) : emptyText();
    const SequencePtr items = iterate(meter, input);
    const AttributeGetter getter(evaluator, bound[1]);
    std::vector<Value> parts;
    parts.reserve(items->items.size());
    for (const Value &item : items->items)
        parts.push_back(getter.get(item));
    return join(meter, *separator, parts);
}

Value sumFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("sum", arguments, {"attribute", "start"});
    const AttributeGetter getter(evaluator, bound[0]);
    Value total = bound.has(1) ? *bound[1] : Value(std::int64_t{0});
    for (const SequencePtr sequence = iterate(evaluator.meter(), input); const Value &item : sequence->items)
        total = binary(evaluator.meter(), Operator::Add, total, getter.get(item));
    return total;
}

enum class Extreme { Smallest, Largest };

template <Extreme extreme>
Value extremeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("min or max", arguments, {"case_sensitive", "attribute"});
    const AttributeGetter getter(evaluator, bound[1]);
    const SequencePtr items = iterate(evaluator.meter(), input);
    if (items->items.empty())
        return undefinedBecause("there is no such item, the sequence was empty");
    const Value *best = nullptr;
    Value bestKey;
    for (const Value &item : items->items) {
        Value key = getter.key(item, keyCaseOf(bound, 0));
        if (best) {
            const std::partial_ordering result = order(evaluator.meter(), key, bestKey);
            if (extreme == Extreme::Smallest ? !(result < 0) : !(result > 0))
                continue;
        }
        best = &item;
        bestKey = std::move(key);
    }
    return *best;
}

Value sortFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
    Meter &meter = evaluator.meter();
    // "a,b" sorts by several attributes.
    std::vector<AttributeGetter> getters;
    if (bound.has(2) && bound[2]->isText()) {
        for (const Value &part : split(meter, bound[2]->text(), makeText(",").get(), -1, Side::Left))
            getters.emplace_back(evaluator, &part);
    } else {
        getters.emplace_back(evaluator, bound[2]);
    }
    std::vector<Keyed> keyed;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items) {
        std::vector<Value> keys;
        for (const AttributeGetter &getter : getters)
            keys.push_back(getter.key(item, keyCaseOf(bound, 1)));
        // Lists, so that keys that are equal although they have no order are no failure.
        keyed.push_back({makeList(meter, std::move(keys)), item});
    }
    sortKeyed(meter, keyed, bound.isSet(0));
    return makeList(meter, itemsOf(std::move(keyed)));
}

Value dictSortFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
    Meter &meter = evaluator.meter();
    requireDefined(input);
    const auto *dictionary = input.tryAs<DictionaryPtr>();
    if (!dictionary)
        fail("dictsort() expects a dict, found '" + std::string(typeName(input)) + "'");
    const TextPtr *by = bound.text(1);
    if (by && (*by)->bytes != "key" && (*by)->bytes != "value")
        fail("dictsort() expects 'key' or 'value' as 'by'");
    const Value position(std::int64_t{by && (*by)->bytes == "value" ? 1 : 0});
    const AttributeGetter getter(evaluator, &position);
    std::vector<Keyed> keyed;
    for (const auto &[key, value] : (*dictionary)->entries()) {
        const Value pair = makeTuple(meter, {key, value});
        keyed.push_back({getter.key(pair, keyCaseOf(bound, 0)), pair});
    }
    sortKeyed(meter, keyed, bound.isSet(2));
    return makeList(meter, itemsOf(std::move(keyed)));
}

Value uniqueFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
    Meter &meter = evaluator.meter();
    const AttributeGetter getter(evaluator, bound[1]);
    Dictionary seen;
    std::vector<Value> kept;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items) {
        Value key = getter.key(item, keyCaseOf(bound, 0));
        if (seen.find(meter, key))
            continue;
        seen.insert(meter, std::move(key), Value());
        kept.push_back(item);
    }
    return generator(meter, std::move(kept));
}

Value groupByFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
    Meter &meter = evaluator.meter();
    const AttributeGetter getter(evaluator, bound[0], bound[1]);
    std::vector<Keyed> keyed;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items)
        keyed.push_back({getter.key(item, keyCaseOf(bound, 2)), item});
    sortKeyed(meter, keyed, false);
    std::vector<Value> groups;
    for (std::size_t begin = 0; begin < keyed.size();) {
        std::vector<Value> members;
        std::size_t end = begin;
        for (; end < keyed.size() && areEqual(meter, keyed[end].key, keyed[begin].key); ++end)
            members.push_back(keyed[end].item);
        if (end == begin) // a key that is not equal to itself
            members.push_back(keyed[end++].item);
        Value grouper = getter.get(members.front());
        groups.emplace_back(makeSequence(meter, Sequence::Kind::Group,
                                         {std::move(grouper), makeList(meter, std::move(members))}));
        begin = end;
    }
    return makeList(meter, std::move(groups));
}

Value itemsFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("items", arguments, {});
    Meter &meter = evaluator.meter();
    std::vector<Value> items;
    if (const auto *dictionary = input.tryAs<DictionaryPtr>()) {
        for (const auto &[key, value] : (*dictionary)->entries())
            items.emplace_back(makeTuple(meter, {key, value}));
    } else if (!input.isUndefined()) {
        fail("items() expects a dict, found '" + std::string(typeName(input)) + "'");
    }
    return generator(meter, std::move(items));
}

Value batchFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
    Meter &meter = evaluator.meter();
    const std::int64_t size = bound.integer(0, 0);
    std::vector<Value> batches;
    std::vector<Value> batch;
    for (const SequencePtr sequence = iterate(meter, input); const Value &item : sequence->items) {
        if (static_cast<std::int64_t>(batch.size()) == size)
            batches.emplace_back(makeList(meter, std::exchange(batch, {})));
        batch.push_back(item);
    }
    if (!batch.empty()) {
        const auto missing = size - static_cast<std::int64_t>(batch.size());
        if (bound.has(1) && !bound[1]->isNone() && missing > 0) {
            meter.checkItems(static_cast<std::size_t>(missing));
            batch.insert(batch.end(), static_cast<std::size_t>(missing), *bound[1]);
        }
        batches.emplace_back(makeList(meter, std::move(batch)));
    }
    return generator(meter, std::move(batches));
}

Value sliceFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
    Meter &meter = evaluator.meter();
    const std::int64_t slices = bound.integer(0, 0);
    if (slices <= 0)
        fail("slice() needs a number of slices above 0");
    const SequencePtr items = iterate(meter, input);
    meter.checkItems(static_cast<std::size_t>(slices));
    const auto length = static_cast<std::int64_t>(items->items.size());
    const std::int64_t each = length / slices;
    const std::int64_t longer = length % slices;
    std::vector<Value> parts;
    auto at = items->items.begin();
    for (std::int64_t i = 0; i < slices; ++i) {
        const std::int64_t size = each + (i < longer ? 1 : 0);
        std::vector<Value> part(at, at + size);
        at += size;
        if (bound.has(1) && !bound[1]->isNone() && i >= longer)
            part.push_back(*bound[1]);
        parts.emplace_back(makeList(meter, std::move(part)));
    }
    return generator(meter, std::move(parts));
}

} // namespace

std::span<const FilterEntry> sequenceFilters()
{
    static constexpr std::array<FilterEntry, 15> filters{{
        {"first", firstFilter},
        {"last", lastFilter},
        {"list", listFilter},
        {"reverse", reverseFilter},
        {"join", joinFilter},
        {"sum", sumFilter},
        {"min", extremeFilter<Extreme::Smallest>},
        {"max", extremeFilter<Extreme::Largest>},
        {"sort", sortFilter},
        {"dictsort", dictSortFilter},
        {"unique", uniqueFilter},
        {"groupby", groupByFilter},
        {"items", itemsFilter},
        {"batch", batchFilter},
        {"slice", sliceFilter},
    }};
    return filters;
}

} // namespace tokenloupe::jinja
