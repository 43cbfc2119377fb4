// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/textedit.h"

#include <array>

namespace tokenloupe::jinja {

namespace {

bool isAlphanumeric(char32_t code)
{
    return isAlphabetic(code) || isNumeric(code) || isDecimal(code);
}

bool isAscii(char32_t code)
{
    return code < 0x80;
}

enum class Empty { False, True };

template <bool (*property)(char32_t), Empty empty>
Value allMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("test of characters", arguments, {});
    const std::string_view bytes = self.text().bytes;
    evaluator.meter().work(bytes.size() * 4);
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = decodeUtf8(bytes, at);
        if (!unit.valid || !property(unit.codePoint))
            return false;
        at += unit.length;
    }
    return !bytes.empty() || empty == Empty::True;
}

/// isupper and islower: no character of the other case, and at least one of this.
template <bool (*wanted)(char32_t)>
Value caseProperty(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("test of case", arguments, {});
    const std::string_view bytes = self.text().bytes;
    evaluator.meter().work(bytes.size() * 4);
    bool any = false;
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = decodeUtf8(bytes, at);
        if (unit.valid && isCased(unit.codePoint)) {
            if (!wanted(unit.codePoint))
                return false;
            any = true;
        }
        at += unit.length;
    }
    return any;
}

Value isTitleMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("istitle", arguments, {});
    const std::string_view bytes = self.text().bytes;
    evaluator.meter().work(bytes.size() * 4);
    bool inWord = false;
    bool any = false;
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = decodeUtf8(bytes, at);
        at += unit.length;
        const bool capital = unit.valid && (isUpper(unit.codePoint) || isTitle(unit.codePoint));
        const bool small = unit.valid && isLower(unit.codePoint);
        if ((capital && inWord) || (small && !inWord))
            return false;
        inWord = capital || small;
        any = any || inWord;
    }
    return any;
}

Value isIdentifierMethod(Evaluator &evaluator, const Value &self, const Arguments &arguments)
{
    const Bound bound("isidentifier", arguments, {});
    const std::string &bytes = self.text().bytes;
    evaluator.meter().work(bytes.size() * 4);
    return !bytes.empty() && identifierLength(bytes) == bytes.size();
}

} // namespace

std::span<const MethodEntry> textPropertyMethods()
{
    static constexpr std::array<MethodEntry, 12> methods{{
        {"isalpha", allMethod<isAlphabetic, Empty::False>},
        {"isalnum", allMethod<isAlphanumeric, Empty::False>},
        {"isdigit", allMethod<isDigit, Empty::False>},
        {"isdecimal", allMethod<isDecimal, Empty::False>},
        {"isnumeric", allMethod<isNumeric, Empty::False>},
        {"isspace", allMethod<isSpace, Empty::False>},
        {"isprintable", allMethod<isPrintable, Empty::True>},
        {"isascii", allMethod<isAscii, Empty::True>},
        {"isupper", caseProperty<isUpper>},
        {"islower", caseProperty<isLower>},
        {"istitle", isTitleMethod},
        {"isidentifier", isIdentifierMethod},
    }};
    return methods;
}

} // namespace tokenloupe::jinja
