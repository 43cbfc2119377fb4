// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/functions.h"

#include "engine/chat/jinja/calendar.h"
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"

#include <array>

namespace tokenloupe::jinja {

namespace {

/// As Jinja's sandbox.
constexpr std::uint64_t mostInRange = 100'000;
constexpr std::size_t longestTimeFormat = 4096;

Value rangeFunction(Evaluator &, const Arguments &arguments)
{
    const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
    const bool onlyStop = !bound.has(1);
    const std::int64_t start = onlyStop ? 0 : bound.integer(0, 0);
    const std::int64_t stop = onlyStop ? bound.integer(0, 0) : bound.integer(1, 0);
    const std::int64_t step = bound.integer(2, 1);
    if (step == 0)
        fail("range() needs a step other than 0");
    std::uint64_t count = 0;
    if (step > 0 ? start < stop : start > stop) {
        // Unsigned: the distance of two 64-bit numbers may not fit a signed one.
        const std::uint64_t distance =
            step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                     : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
        const std::uint64_t size =
            step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
        count = (distance - 1) / size + 1;
    }
    if (count > mostInRange)
        fail("range() of " + std::to_string(count) + " numbers exceeds the bound of " +
             std::to_string(mostInRange));
    return ObjectPtr(std::make_shared<RangeObject>(start, stop, step, static_cast<std::int64_t>(count)));
}

void insertPairs(Meter &meter, Dictionary &dictionary, const Value &source)
{
    if (const auto *other = source.tryAs<DictionaryPtr>()) {
        for (const auto &[key, value] : (*other)->entries())
            dictionary.insert(meter, key, value);
        return;
    }
    requireDefined(source);
    for (const SequencePtr sequence = iterate(meter, source); const Value &pair : sequence->items) {
        const SequencePtr parts = iterate(meter, pair);
        if (parts->items.size() != 2)
            fail("dict() expects pairs, found " + std::to_string(parts->items.size()) + " items");
        dictionary.insert(meter, parts->items[0], parts->items[1]);
    }
}

std::shared_ptr<Dictionary> dictionaryOf(Evaluator &evaluator, std::string_view function,
                                         const Arguments &arguments)
{
    if (arguments.positional.size() > 1)
        fail(std::string(function) + "() takes at most 1 argument without a name");
    auto dictionary = std::make_shared<Dictionary>();
    if (!arguments.positional.empty())
        insertPairs(evaluator.meter(), *dictionary, arguments.positional[0]);
    for (const auto &[name, value] : arguments.named)
        dictionary->insert(evaluator.meter(), name, value);
    return dictionary;
}

Value dictFunction(Evaluator &evaluator, const Arguments &arguments)
{
    return DictionaryPtr(dictionaryOf(evaluator, "dict", arguments));
}

Value namespaceFunction(Evaluator &evaluator, const Arguments &arguments)
{
    Namespace *space = evaluator.makeNamespace();
    for (const auto members = dictionaryOf(evaluator, "namespace", arguments);
         const auto &[name, value] : members->entries()) {
        if (!name.isText())
            fail("namespace() expects names, not '" + std::string(typeName(name)) + "'");
        space->set(evaluator.meter(), name.as<TextPtr>(), value);
    }
    return space;
}

Value cyclerFunction(Evaluator &evaluator, const Arguments &arguments)
{
    if (!arguments.named.empty() || arguments.positional.empty())
        fail("cycler() needs one or more values");
    return ObjectPtr(std::make_shared<CyclerObject>(makeList(evaluator.meter(), arguments.positional)));
}

Value joinerFunction(Evaluator &, const Arguments &arguments)
{
    const Bound bound("joiner", arguments, {"sep"});
    const TextPtr *separator = bound.text(0);
    return ObjectPtr(std::make_shared<JoinerObject>(separator ? *separator : makeText(", ")));
}

Value raiseException(Evaluator &evaluator, const Arguments &arguments)
{
    const Bound bound("raise_exception", arguments, {"message"}, 1);
    failRaised(toText(evaluator.meter(), *bound[0])->bytes);
}

Value strftimeNow(Evaluator &evaluator, const Arguments &arguments)
{
    const Bound bound("strftime_now", arguments, {"format"}, 1);
    const TextPtr *format = bound.text(0);
    if (!format || (*format)->bytes.size() > longestTimeFormat)
        fail("strftime_now() expects a format of at most " + std::to_string(longestTimeFormat) + " bytes");
    return makeText(formatCalendar(evaluator.now(), (*format)->bytes), (*format)->origin());
}

} // namespace

std::span<const FunctionEntry> globalFunctions()
{
    static constexpr std::array<FunctionEntry, 7> functions{{
        {"range", rangeFunction},
        {"dict", dictFunction},
        {"namespace", namespaceFunction},
        {"cycler", cyclerFunction},
        {"joiner", joinerFunction},
        {"raise_exception", raiseException},
        {"strftime_now", strftimeNow},
    }};
    return functions;
}

} // namespace tokenloupe::jinja
