// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/textedit.h"

namespace tokenloupe::jinja {

namespace {

constexpr char32_t sigma = 0x3A3;
constexpr std::string_view finalSigma = "\xCF\x82";

/// Appends the text with `caseAt(unit, place)` applied to each character.
template <class CaseAt>
TextPtr recased(Meter &meter, const Text &text, CaseAt caseAt)
{
    TextBuilder out(meter);
    bool afterLetter = false;
    std::size_t at = 0;
    appendMapped(meter, out, text, [&](const Utf8Unit &unit, std::string_view bytes, std::string &to) {
        const std::size_t begin = at;
        at += unit.length;
        if (!unit.valid) {
            afterLetter = false;
            return Mapping::Keep;
        }
        const Case target = caseAt(unit.codePoint, begin);
        if (unit.codePoint == sigma && target == Case::Lower && afterLetter) {
            // A capital sigma at the end of a word has a small form of its own.
            const bool more = at < text.bytes.size() && isCased(decodeUtf8(text.bytes, at).codePoint);
            if (!more)
                to += finalSigma;
        }
        if (to.empty())
            appendCased(to, unit.codePoint, target);
        afterLetter = isCased(unit.codePoint);
        return to == bytes ? Mapping::Keep : Mapping::Replace;
    });
    return out.finish(text.markup);
}

} // namespace

TextPtr changeCase(Meter &meter, const Text &text, Case target)
{
    return recased(meter, text, [target](char32_t, std::size_t) { return target; });
}

TextPtr capitalize(Meter &meter, const Text &text)
{
    return recased(meter, text, [](char32_t, std::size_t at) { return at == 0 ? Case::Title : Case::Lower; });
}

TextPtr titleCase(Meter &meter, const Text &text)
{
    return recased(meter, text, [inWord = false](char32_t code, std::size_t) mutable {
        const Case target = inWord ? Case::Lower : Case::Title;
        inWord = isCased(code);
        return target;
    });
}

TextPtr swapCase(Meter &meter, const Text &text)
{
    TextBuilder out(meter);
    appendMapped(meter, out, text, [](const Utf8Unit &unit, std::string_view, std::string &to) {
        const bool upper = unit.valid && isUpper(unit.codePoint);
        if (!upper && !(unit.valid && isLower(unit.codePoint)))
            return Mapping::Keep;
        appendCased(to, unit.codePoint, upper ? Case::Lower : Case::Upper);
        return Mapping::Replace;
    });
    return out.finish(text.markup);
}

} // namespace tokenloupe::jinja
