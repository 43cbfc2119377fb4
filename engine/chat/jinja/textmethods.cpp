// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"
#include "engine/chat/jinja/textedit.h"
#include "engine/chat/jinja/textsearch.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

namespace {

constexpr std::size_t npos = std::string_view::npos;

/// An argument that meets a markup string is escaped first.
TextPtr matched(Meter &meter, const Value &self, const TextPtr &argument)
{
    return self.text().markup && !argument->markup ? escaped(meter, *argument) : argument;
}

TextPtr requiredText(std::string_view function, const Bound &bound, std::size_t index)
{
    const TextPtr *text = bound.text(index);
    if (!text)
        fail(std::string(function) + "() needs a string");
    return *text;
}

template <Side side>
Value stripMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("strip", arguments, {"chars"});
    const TextPtr *characters = bound.text(0);
    return strip(evaluator.meter(), self.as<TextPtr>(), side, characters ? characters->get() : nullptr);
}

template <Side side>
Value splitMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("split", arguments, {"sep", "maxsplit"});
    const TextPtr *separator = bound.text(0);
    return makeList(evaluator.meter(),
                    split(evaluator.meter(), self.text(), separator ? separator->get() : nullptr,
                          bound.integer(1, -1), side));
}

Value splitLinesMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("splitlines", arguments, {"keepends"});
    const LineEnds ends = bound.isSet(0) ? LineEnds::Keep : LineEnds::Drop;
    return makeList(evaluator.meter(), splitLines(evaluator.meter(), self.text(), ends));
}

template <Side side>
Value partitionMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("partition", arguments, {"sep"}, 1);
    const TextPtr separator = requiredText("partition", bound, 0);
    const Text &text = self.text();
    Meter &meter = evaluator.meter();
    const std::size_t size = text.bytes.size();
    if (separator->bytes.empty())
        fail("partition() needs a separator that is not empty");
    const std::size_t at = side == Side::Left ? findText(meter, text.bytes, separator->bytes, 0)
                                              : findLastText(meter, text.bytes, separator->bytes, size);
    if (at == npos && side == Side::Left)
        return makeTuple(meter, {self, emptyText(), emptyText()});
    if (at == npos)
        return makeTuple(meter, {emptyText(), emptyText(), self});
    const std::size_t end = at + separator->bytes.size();
    return makeTuple(
        meter, {subText(meter, text, 0, at), subText(meter, text, at, end), subText(meter, text, end, size)});
}

Value replaceMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
    Meter &meter = evaluator.meter();
    const TextPtr with = matched(meter, self, requiredText("replace", bound, 1));
    return replace(meter, self.text(), *requiredText("replace", bound, 0), *with, bound.integer(2, -1));
}

Value joinMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("join", arguments, {"iterable"}, 1);
    requireDefined(*bound[0]);
    const SequencePtr items = iterate(evaluator.meter(), *bound[0]);
    Meter &meter = evaluator.meter();
    TextBuilder out(meter);
    for (std::size_t i = 0; i < items->items.size(); ++i) {
        meter.step();
        if (!items->items[i].isText())
            fail("join() expects strings, found '" + std::string(typeName(items->items[i])) + "'");
        if (i > 0)
            out.append(self.text());
        out.append(*matched(meter, self, items->items[i].as<TextPtr>()));
    }
    return out.finish(self.text().markup);
}

template <Case target>
Value caseMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound(target == Case::Upper ? "upper" : "lower", arguments, {});
    return changeCase(evaluator.meter(), self.text(), target);
}

template <TextPtr (*change)(Meter &, const Text &)>
Value changeMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("change of case", arguments, {});
    return change(evaluator.meter(), self.text());
}

/// startswith and endswith: any of a tuple, in a part of the text.
template <Side side>
Value affixMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound(side == Side::Left ? "startswith" : "endswith", arguments, {"prefix", "start", "end"},
                      1);
    Meter &meter = evaluator.meter();
    const Value part = bound.has(1) || bound.has(2)
                           ? Value(slice(meter, self.text(), bound.has(1) ? *bound[1] : Value(),
                                         bound.has(2) ? *bound[2] : Value(), Value()))
                           : self;
    const std::string_view text = part.text().bytes;
    const auto matches = [&](const Value &affix) {
        requireDefined(affix);
        if (!affix.isText())
            fail("startswith() and endswith() expect strings, found '" + std::string(typeName(affix)) + "'");
        meter.work(affix.text().bytes.size());
        return side == Side::Left ? text.starts_with(affix.text().bytes) : text.ends_with(affix.text().bytes);
    };
    const auto *tuple = bound[0]->tryAs<SequencePtr>();
    if (!tuple || (*tuple)->kind == Sequence::Kind::List)
        return matches(*bound[0]);
    meter.step((*tuple)->items.size());
    return std::any_of((*tuple)->items.begin(), (*tuple)->items.end(), matches);
}

template <Side side>
Value removeAffix(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound(side == Side::Left ? "removeprefix" : "removesuffix", arguments, {"affix"}, 1);
    const TextPtr affix = requiredText("removeprefix", bound, 0);
    const Text &text = self.text();
    evaluator.meter().work(affix->bytes.size());
    const std::size_t size = text.bytes.size();
    if (side == Side::Left && text.bytes.starts_with(affix->bytes))
        return subText(evaluator.meter(), text, affix->bytes.size(), size);
    if (side == Side::Right && text.bytes.ends_with(affix->bytes))
        return subText(evaluator.meter(), text, 0, size - affix->bytes.size());
    return self;
}

enum class Absent { MinusOne, Failure };

template <Side side, Absent absent>
Value findMethodOf(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
    Meter &meter = evaluator.meter();
    const TextPtr wanted = requiredText("find", bound, 0);
    const Text &text = self.text();
    const auto length = static_cast<std::int64_t>(lengthOf(meter, text));
    const SliceRange part =
        resolveSlice(length, bound.has(1) ? *bound[1] : Value(), bound.has(2) ? *bound[2] : Value(), Value());
    std::size_t at = npos;
    if (part.count > 0 || (wanted->bytes.empty() && part.start <= length)) {
        const std::size_t begin = byteOffset(meter, text, static_cast<std::size_t>(part.start));
        const std::size_t end = byteOffset(meter, text, static_cast<std::size_t>(part.start + part.count));
        const std::string_view area = std::string_view(text.bytes).substr(begin, end - begin);
        at = side == Side::Left ? findText(meter, area, wanted->bytes, 0)
                                : findLastText(meter, area, wanted->bytes, area.size());
        if (at != npos)
            return static_cast<std::int64_t>(characterIndex(meter, text, begin + at));
    }
    if (absent == Absent::Failure)
        fail("index() does not find the text");
    return std::int64_t{-1};
}

Value countMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
    Meter &meter = evaluator.meter();
    const TextPtr wanted = requiredText("count", bound, 0);
    const TextPtr text = bound.has(1) || bound.has(2)
                             ? slice(meter, self.text(), bound.has(1) ? *bound[1] : Value(),
                                     bound.has(2) ? *bound[2] : Value(), Value())
                             : self.as<TextPtr>();
    if (wanted->bytes.empty())
        return static_cast<std::int64_t>(lengthOf(meter, *text)) + 1;
    std::int64_t count = 0;
    for (std::size_t at = 0; (at = findText(meter, text->bytes, wanted->bytes, at)) != npos;
         at += wanted->bytes.size()) {
        meter.step();
        ++count;
    }
    return count;
}

/// `side`: where the filling goes.
template <Side side>
Value padMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("center, ljust or rjust", arguments, {"width", "fillchar"}, 1);
    const TextPtr *filling = bound.text(1);
    return pad(evaluator.meter(), self.as<TextPtr>(), bound.integer(0, 0), side,
               filling ? **filling : *makeText(" "));
}

Value zfillMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("zfill", arguments, {"width"}, 1);
    Meter &meter = evaluator.meter();
    const Text &text = self.text();
    const bool sign = text.bytes.starts_with('+') || text.bytes.starts_with('-');
    const std::int64_t missing = bound.integer(0, 0) - static_cast<std::int64_t>(lengthOf(meter, text));
    TextBuilder out(meter);
    out.append(text, 0, sign ? 1 : 0);
    out.append(*repeat(meter, *makeText("0"), missing));
    out.append(text, sign ? 1 : 0, text.bytes.size());
    return out.finish(text.markup);
}

Value expandTabsMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("expandtabs", arguments, {"tabsize"});
    const std::int64_t size = bound.integer(0, 8);
    Meter &meter = evaluator.meter();
    TextBuilder out(meter);
    std::int64_t column = 0;
    if (size > 0)
        meter.checkText(static_cast<std::size_t>(size));
    appendMapped(meter, out, self.text(), [&](const Utf8Unit &unit, std::string_view, std::string &to) {
        if (!unit.valid || unit.codePoint != U'\t') {
            column = unit.valid && (unit.codePoint == U'\n' || unit.codePoint == U'\r') ? 0 : column + 1;
            return Mapping::Keep;
        }
        const std::int64_t spaces = size > 0 ? size - column % size : 0;
        column += spaces;
        to.append(static_cast<std::size_t>(spaces), ' ');
        return Mapping::Replace;
    });
    return out.finish(self.text().markup);
}

Value formatMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    return braceFormat(evaluator, self.text(), arguments);
}

Value formatMapMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("format_map", arguments, {"mapping"}, 1);
    const auto *dictionary = bound[0]->tryAs<DictionaryPtr>();
    if (!dictionary)
        fail("format_map() expects a dict");
    Arguments members;
    evaluator.meter().step((*dictionary)->size());
    for (const auto &[key, value] : (*dictionary)->entries()) {
        if (key.isText())
            members.named.emplace_back(key.as<TextPtr>(), value);
    }
    return braceFormat(evaluator, self.text(), members);
}

} // namespace

std::span<const MethodEntry> textMethods()
{
    static constexpr std::array<MethodEntry, 31> methods{{
        {"strip", stripMethod<Side::Both>},
        {"lstrip", stripMethod<Side::Left>},
        {"rstrip", stripMethod<Side::Right>},
        {"split", splitMethod<Side::Left>},
        {"rsplit", splitMethod<Side::Right>},
        {"splitlines", splitLinesMethod},
        {"partition", partitionMethod<Side::Left>},
        {"rpartition", partitionMethod<Side::Right>},
        {"replace", replaceMethod},
        {"join", joinMethod},
        {"upper", caseMethod<Case::Upper>},
        {"lower", caseMethod<Case::Lower>},
        {"title", changeMethod<titleCase>},
        {"capitalize", changeMethod<capitalize>},
        {"swapcase", changeMethod<swapCase>},
        {"startswith", affixMethod<Side::Left>},
        {"endswith", affixMethod<Side::Right>},
        {"removeprefix", removeAffix<Side::Left>},
        {"removesuffix", removeAffix<Side::Right>},
        {"find", findMethodOf<Side::Left, Absent::MinusOne>},
        {"rfind", findMethodOf<Side::Right, Absent::MinusOne>},
        {"index", findMethodOf<Side::Left, Absent::Failure>},
        {"rindex", findMethodOf<Side::Right, Absent::Failure>},
        {"count", countMethod},
        {"center", padMethod<Side::Both>},
        {"ljust", padMethod<Side::Right>},
        {"rjust", padMethod<Side::Left>},
        {"zfill", zfillMethod},
        {"expandtabs", expandTabsMethod},
        {"format", formatMethod},
        {"format_map", formatMapMethod},
    }};
    return methods;
}

} // namespace tokenloupe::jinja
