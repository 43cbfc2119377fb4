// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/textedit.h"

#include <algorithm>
#include <optional>

namespace tokenloupe::jinja {

namespace {

std::optional<std::int64_t> bound(const Value &value)
{
    if (value.isNone())
        return std::nullopt;
    if (const auto *undefined = value.tryAs<Undefined>())
        fail(*undefined->hint);
    if (!value.isInteger())
        fail("a slice needs whole numbers, not '" + std::string(typeName(value)) + "'");
    return value.integer();
}

} // namespace

SliceRange resolveSlice(std::int64_t length, const Value &start, const Value &stop, const Value &step)
{
    SliceRange range;
    range.step = bound(step).value_or(1);
    if (range.step == 0)
        fail("the step of a slice is 0, expected another number");
    const bool forward = range.step > 0;
    const std::int64_t lowest = forward ? 0 : -1;
    const std::int64_t highest = forward ? length : length - 1;
    const auto place = [&](const std::optional<std::int64_t> &given, std::int64_t otherwise) {
        if (!given)
            return otherwise;
        const std::int64_t absolute = *given < 0 ? *given + length : *given;
        return std::clamp(absolute, lowest, highest);
    };
    range.start = place(bound(start), forward ? lowest : highest);
    const std::int64_t end = place(bound(stop), forward ? highest : lowest);
    // Lengths are small, steps may be anything: unsigned so that the smallest step has a size.
    const auto size =
        forward ? static_cast<std::uint64_t>(range.step) : 0 - static_cast<std::uint64_t>(range.step);
    const std::int64_t distance = forward ? end - range.start : range.start - end;
    if (distance > 0)
        range.count = static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / size) + 1;
    return range;
}

TextPtr slice(Meter &meter, const Text &text, const Value &start, const Value &stop, const Value &step)
{
    const SliceRange range =
        resolveSlice(static_cast<std::int64_t>(lengthOf(meter, text)), start, stop, step);
    if (range.count == 0)
        return emptyText();
    if (range.step == 1) {
        const std::size_t begin = byteOffset(meter, text, static_cast<std::size_t>(range.start));
        const std::size_t end = byteOffset(meter, text, static_cast<std::size_t>(range.start + range.count));
        return subText(meter, text, begin, end);
    }
    const std::vector<std::uint32_t> offsets = characterOffsets(meter, text);
    TextBuilder out(meter);
    std::int64_t index = range.start;
    meter.step(static_cast<std::size_t>(range.count) / 16);
    for (std::int64_t i = 0; i < range.count; ++i) {
        const auto at = static_cast<std::size_t>(index);
        out.append(text, offsets[at], offsets[at + 1]);
        if (i + 1 < range.count)
            index += range.step;
    }
    return out.finish(text.markup);
}

} // namespace tokenloupe::jinja
