// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/value.h"

#include <optional>

namespace tokenloupe::jinja {

/// Python's str().
TextPtr toText(Meter &meter, const Value &value);
void appendText(Meter &meter, TextBuilder &out, const Value &value);
/// Python's repr(): strings quoted and escaped.
void appendRepr(Meter &meter, TextBuilder &out, const Value &value);
/// The same with everything outside of ASCII escaped.
void appendAsciiRepr(Meter &meter, TextBuilder &out, const Value &value);
/// For messages: cut to a length for people.
std::string shownRepr(const Value &value);

/// & < > ' " as HTML entities, marked as done.
TextPtr escaped(Meter &meter, const Text &text);

struct JsonStyle
{
    enum class Characters { All, Ascii };
    enum class Keys { AsInserted, Sorted };
    Characters characters = Characters::All;
    Keys keys = Keys::AsInserted;
    std::optional<TextPtr> indent; ///< none: all on one line
    TextPtr itemSeparator, keySeparator;
};

/// As Python's json.dumps.
void appendJson(Meter &meter, TextBuilder &out, const Value &value, const JsonStyle &style);

} // namespace tokenloupe::jinja
