// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/utf8.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/unicode.h"
#include "engine/chat/jinja/value.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::jinja {

enum class Mapping { Keep, Replace };
enum class Side { Left, Right, Both };
enum class LineEnds { Drop, Keep };

/// Appends `text` with characters replaced: `map(unit, its bytes, replacement)` says whether. A replacement
/// is input where the character was.
template <class Map>
void appendMapped(Meter &meter, TextBuilder &out, const Text &text, Map map)
{
    meter.work(text.bytes.size() * 4);
    const std::string_view bytes = text.bytes;
    OriginCursor origin(text);
    std::string replacement;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = decodeUtf8(bytes, at);
        replacement.clear();
        if (map(unit, bytes.substr(at, unit.length), replacement) == Mapping::Replace) {
            out.append(text, kept, at);
            out.append(replacement, origin.at(at));
            kept = at + unit.length;
        }
        at += unit.length;
    }
    out.append(text, kept, bytes.size());
}

/// White space, or the characters of the second text.
TextPtr strip(Meter &meter, const TextPtr &text, Side side, const Text *characters = nullptr);
/// Python's split and rsplit; no separator: at white space. `most` cuts, or any number when negative.
std::vector<Value> split(Meter &meter, const Text &text, const Text *separator, std::int64_t most, Side from);
std::vector<Value> splitLines(Meter &meter, const Text &text, LineEnds ends);
TextPtr replace(Meter &meter, const Text &text, const Text &old, const Text &with, std::int64_t most);
TextPtr join(Meter &meter, const Text &separator, const std::vector<Value> &items);

TextPtr changeCase(Meter &meter, const Text &text, Case target);
TextPtr capitalize(Meter &meter, const Text &text);
TextPtr titleCase(Meter &meter, const Text &text);
TextPtr swapCase(Meter &meter, const Text &text);

/// To a width in characters; `side` is where the filling goes.
TextPtr pad(Meter &meter, const TextPtr &text, std::int64_t width, Side side, const Text &filling);

/// Python's slice of `length` things: first index, step and how many.
struct SliceRange
{
    std::int64_t start = 0, step = 1, count = 0;
};
SliceRange resolveSlice(std::int64_t length, const Value &start, const Value &stop, const Value &step);
TextPtr slice(Meter &meter, const Text &text, const Value &start, const Value &stop, const Value &step);

} // namespace tokenloupe::jinja
