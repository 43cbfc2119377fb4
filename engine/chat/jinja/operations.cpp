// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/operations.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/textsearch.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe::jinja {

namespace {

std::string quoted(const Value &value)
{
    return "'" + std::string(typeName(value)) + "'";
}

/// Exact, where a conversion to double could round.
std::partial_ordering orderOf(std::int64_t integer, double real)
{
    if (std::isnan(real))
        return std::partial_ordering::unordered;
    if (real >= 0x1p63)
        return std::partial_ordering::less;
    if (real < -0x1p63)
        return std::partial_ordering::greater;
    const auto whole = static_cast<std::int64_t>(real); // toward zero
    if (integer != whole)
        return integer <=> whole;
    return 0.0 <=> (real - static_cast<double>(whole));
}

std::partial_ordering orderOfNumbers(const Value &left, const Value &right)
{
    if (left.isInteger() && right.isInteger())
        return left.integer() <=> right.integer();
    if (left.isInteger())
        return orderOf(left.integer(), right.as<double>());
    if (right.isInteger()) {
        const std::partial_ordering turned = orderOf(right.integer(), left.as<double>());
        return 0 <=> turned;
    }
    return left.as<double>() <=> right.as<double>();
}

bool areEqualSequences(Meter &meter, const Sequence &left, const Sequence &right)
{
    const bool sameKind = (left.kind == Sequence::Kind::List) == (right.kind == Sequence::Kind::List);
    if (!sameKind || left.items.size() != right.items.size())
        return false;
    for (std::size_t i = 0; i < left.items.size(); ++i) {
        if (!areEqual(meter, left.items[i], right.items[i]))
            return false;
    }
    return true;
}

bool areEqualDictionaries(Meter &meter, const Dictionary &left, const Dictionary &right)
{
    if (left.size() != right.size())
        return false;
    for (const auto &[key, value] : left.entries()) {
        const Value *other = right.find(meter, key);
        if (!other || !areEqual(meter, value, *other))
            return false;
    }
    return true;
}

bool areEqualObjects(Meter &meter, const Value &left, const Value &right)
{
    const ObjectPtr &a = left.as<ObjectPtr>();
    const ObjectPtr &b = right.as<ObjectPtr>();
    if (a == b)
        return true;
    if (a->type != b->type)
        return false;
    if (a->type == Object::Type::Range) {
        const auto &x = static_cast<const RangeObject &>(*a);
        const auto &y = static_cast<const RangeObject &>(*b);
        return x.count == y.count &&
               (x.count == 0 || (x.start == y.start && (x.count == 1 || x.step == y.step)));
    }
    if (a->type == Object::Type::View) {
        const auto &x = static_cast<const ViewObject &>(*a);
        const auto &y = static_cast<const ViewObject &>(*b);
        return x.name == y.name && areEqualSequences(meter, *x.items, *y.items);
    }
    if (a->type == Object::Type::Function)
        return static_cast<const FunctionObject &>(*a).entry == static_cast<const FunctionObject &>(*b).entry;
    return false;
}

bool containsInRange(const RangeObject &range, const Value &item)
{
    if (!item.isNumber())
        return false;
    for (std::int64_t i = 0; i < range.count; ++i) {
        if (orderOfNumbers(Value(range.start + i * range.step), item) == 0)
            return true;
    }
    return false;
}

} // namespace

void requireDefined(const Value &value)
{
    if (const auto *undefined = value.tryAs<Undefined>())
        fail(*undefined->hint);
}

bool isTrue(const Value &value)
{
    if (value.isUndefined() || value.isNone())
        return false;
    if (value.is<double>())
        return value.as<double>() != 0;
    if (value.isInteger())
        return value.integer() != 0;
    if (value.isText())
        return !value.text().bytes.empty();
    if (const auto *sequence = value.tryAs<SequencePtr>())
        return !(*sequence)->items.empty();
    if (const auto *dictionary = value.tryAs<DictionaryPtr>())
        return (*dictionary)->size() > 0;
    if (const auto range = objectAs<RangeObject>(value, Object::Type::Range))
        return range->count > 0;
    if (const auto view = objectAs<ViewObject>(value, Object::Type::View))
        return !view->items->items.empty();
    return true;
}

bool areSame(const Value &left, const Value &right)
{
    if (left.isNone() || right.isNone())
        return left.isNone() && right.isNone();
    if (left.is<bool>() && right.is<bool>())
        return left.as<bool>() == right.as<bool>();
    if (left.is<SequencePtr>() && right.is<SequencePtr>())
        return left.as<SequencePtr>() == right.as<SequencePtr>();
    if (left.is<DictionaryPtr>() && right.is<DictionaryPtr>())
        return left.as<DictionaryPtr>() == right.as<DictionaryPtr>();
    if (left.is<ObjectPtr>() && right.is<ObjectPtr>())
        return left.as<ObjectPtr>() == right.as<ObjectPtr>();
    if (left.is<Namespace *>() && right.is<Namespace *>())
        return left.as<Namespace *>() == right.as<Namespace *>();
    if (left.is<Macro *>() && right.is<Macro *>())
        return left.as<Macro *>() == right.as<Macro *>();
    if (left.is<Loop *>() && right.is<Loop *>())
        return left.as<Loop *>() == right.as<Loop *>();
    // Python's identity of numbers and strings is an accident of its memory: equality of one type is what
    // templates that write `is sameas 1` mean.
    if (left.is<std::int64_t>() && right.is<std::int64_t>())
        return left.integer() == right.integer();
    if (left.is<double>() && right.is<double>())
        return left.as<double>() == right.as<double>();
    if (left.isText() && right.isText())
        return left.text().bytes == right.text().bytes;
    return false;
}

bool areEqual(Meter &meter, const Value &left, const Value &right)
{
    meter.step();
    if (left.isNumber() && right.isNumber())
        return orderOfNumbers(left, right) == 0;
    if (left.isText() && right.isText()) {
        if (left.text().bytes.size() != right.text().bytes.size())
            return false;
        meter.work(left.text().bytes.size());
        return left.text().bytes == right.text().bytes;
    }
    if (left.isUndefined() || right.isUndefined())
        return left.isUndefined() && right.isUndefined();
    if (areSame(left, right))
        return true;
    if (left.is<SequencePtr>() && right.is<SequencePtr>())
        return areEqualSequences(meter, *left.as<SequencePtr>(), *right.as<SequencePtr>());
    if (left.is<DictionaryPtr>() && right.is<DictionaryPtr>())
        return areEqualDictionaries(meter, *left.as<DictionaryPtr>(), *right.as<DictionaryPtr>());
    if (left.is<ObjectPtr>() && right.is<ObjectPtr>())
        return areEqualObjects(meter, left, right);
    return false;
}

std::partial_ordering order(Meter &meter, const Value &left, const Value &right)
{
    meter.step();
    requireDefined(left);
    requireDefined(right);
    if (left.isNumber() && right.isNumber())
        return orderOfNumbers(left, right);
    if (left.isText() && right.isText()) {
        meter.work(std::min(left.text().bytes.size(), right.text().bytes.size()));
        // UTF-8 sorts by bytes as by code points.
        const int result = left.text().bytes.compare(right.text().bytes);
        return result <=> 0;
    }
    if (left.is<SequencePtr>() && right.is<SequencePtr>()) {
        const Sequence &a = *left.as<SequencePtr>();
        const Sequence &b = *right.as<SequencePtr>();
        if ((a.kind == Sequence::Kind::List) == (b.kind == Sequence::Kind::List)) {
            for (std::size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i) {
                if (!areEqual(meter, a.items[i], b.items[i]))
                    return order(meter, a.items[i], b.items[i]);
            }
            return a.items.size() <=> b.items.size();
        }
    }
    fail("cannot order " + quoted(left) + " and " + quoted(right));
}

bool contains(Meter &meter, const Value &container, const Value &item)
{
    if (container.isText()) {
        if (!item.isText())
            fail("'in' on a string needs a string on its left, not " + quoted(item));
        return findText(meter, container.text().bytes, item.text().bytes, 0) != std::string_view::npos;
    }
    if (const auto *dictionary = container.tryAs<DictionaryPtr>())
        return (*dictionary)->find(meter, item) != nullptr;
    if (const auto range = objectAs<RangeObject>(container, Object::Type::Range)) {
        meter.step(static_cast<std::size_t>(range->count));
        return containsInRange(*range, item);
    }
    const SequencePtr items = iterate(meter, container);
    return std::any_of(items->items.begin(), items->items.end(),
                       [&](const Value &each) { return areEqual(meter, each, item); });
}

bool compare(Meter &meter, Comparison comparison, const Value &left, const Value &right)
{
    switch (comparison) {
    case Comparison::Equal:
        return areEqual(meter, left, right);
    case Comparison::NotEqual:
        return !areEqual(meter, left, right);
    case Comparison::Less:
        return order(meter, left, right) < 0;
    case Comparison::LessEqual:
        return order(meter, left, right) <= 0;
    case Comparison::Greater:
        return order(meter, left, right) > 0;
    case Comparison::GreaterEqual:
        return order(meter, left, right) >= 0;
    case Comparison::In:
        return contains(meter, right, left);
    case Comparison::NotIn:
        return !contains(meter, right, left);
    }
    return false;
}

bool isIterable(const Value &value)
{
    if (const auto *object = value.tryAs<ObjectPtr>())
        return (*object)->type == Object::Type::Range || (*object)->type == Object::Type::View ||
               (*object)->type == Object::Type::Iterator;
    return value.isUndefined() || value.isText() || value.is<SequencePtr>() || value.is<DictionaryPtr>();
}

SequencePtr iterate(Meter &meter, const Value &value)
{
    if (const auto *sequence = value.tryAs<SequencePtr>())
        return *sequence;
    std::vector<Value> items;
    if (value.isText()) {
        const Text &text = value.text();
        const std::vector<std::uint32_t> offsets = characterOffsets(meter, text);
        meter.checkItems(offsets.size() - 1);
        items.reserve(offsets.size() - 1);
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
            items.emplace_back(subText(meter, text, offsets[i], offsets[i + 1]));
    } else if (const auto *dictionary = value.tryAs<DictionaryPtr>()) {
        meter.step((*dictionary)->size());
        for (const auto &[key, member] : (*dictionary)->entries())
            items.push_back(key);
    } else if (const auto range = objectAs<RangeObject>(value, Object::Type::Range)) {
        meter.checkItems(static_cast<std::size_t>(range->count));
        for (std::int64_t i = 0; i < range->count; ++i)
            items.emplace_back(range->start + i * range->step);
    } else if (const auto view = objectAs<ViewObject>(value, Object::Type::View)) {
        return view->items;
    } else if (const auto iterator = objectAs<IteratorObject>(value, Object::Type::Iterator)) {
        const std::size_t from = iterator->position;
        iterator->position = iterator->items->items.size();
        if (from == 0)
            return iterator->items;
        meter.step(iterator->position - from);
        items.assign(iterator->items->items.begin() + static_cast<std::ptrdiff_t>(from),
                     iterator->items->items.end());
    } else if (!value.isUndefined()) {
        fail(quoted(value) + " cannot be iterated over");
    }
    return makeList(meter, std::move(items));
}

HasLength lengthOf(Meter &meter, const Value &value, std::int64_t &length)
{
    std::size_t count = 0;
    if (value.isText())
        count = lengthOf(meter, value.text());
    else if (const auto *sequence = value.tryAs<SequencePtr>())
        count = (*sequence)->items.size();
    else if (const auto *dictionary = value.tryAs<DictionaryPtr>())
        count = (*dictionary)->size();
    else if (const auto range = objectAs<RangeObject>(value, Object::Type::Range))
        count = static_cast<std::size_t>(range->count);
    else if (const auto view = objectAs<ViewObject>(value, Object::Type::View))
        count = view->items->items.size();
    else if (const auto *loop = value.tryAs<Loop *>())
        count = (*loop)->items->items.size();
    else if (!value.isUndefined())
        return HasLength::No;
    length = static_cast<std::int64_t>(count);
    return HasLength::Yes;
}

} // namespace tokenloupe::jinja
