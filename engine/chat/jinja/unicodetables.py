#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes unicodesets.cpp and unicodecases.cpp beside this file from the Unicode data of the running Python
(3.11: Unicode 14). Run it only to move to another version of Unicode."""

import pathlib

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HEADER = """// SPDX-License-Identifier: GPL-3.0-or-later
// Written by unicodetables.py.
#include "engine/chat/jinja/unicodetables.h"

#include <array>

namespace tokenloupe::jinja {

// clang-format off

namespace {

"""


def lines(items, width=104):
    row = "   "
    for item in items:
        if len(row) + len(item) + 2 > width:
            yield row
            row = "   "
        row += " " + item + ","
    yield row


def toggles(test):
    out, inside = [], False
    for c in range(0x110001):
        now = c < 0x110000 and not 0xD800 <= c < 0xE000 and test(chr(c))
        if now != inside:
            out.append(c)
            inside = now
    return out


SETS = {
    "alphabetic": str.isalpha,
    "decimal": str.isdecimal,
    "digit": str.isdigit,
    "numeric": str.isnumeric,
    "printable": str.isprintable,
}
CASE_SETS = {
    "upper": str.isupper,
    "lower": str.islower,
    "title": lambda c: c.istitle() and not c.isupper(),
}


def set_tables(sets):
    text = ""
    names = []
    for name, test in sets.items():
        values = toggles(test)
        text += f"constexpr std::array<std::uint32_t, {len(values)}> {name}Edges{{\n"
        text += "\n".join(lines([f"0x{v:x}" for v in values])) + "\n};\n\n"
        names.append(f"const CodeSet {name}Set = {name}Edges;\n")
    return text, names


def write_sets(folder):
    tables, names = set_tables(SETS)
    text = HEADER + tables
    text += "} // namespace\n\n" + "".join(names) + "\n// clang-format on\n\n} // namespace tokenloupe::jinja\n"
    (folder / "unicodesets.cpp").write_text(text)


def runs(mapping):
    pairs = [(ord(c), ord(mapping(c)) - ord(c)) for c in ALL if len(mapping(c)) == 1 and mapping(c) != c]
    out = []
    for code, delta in pairs:
        if out and out[-1][3] == delta:
            first, last, stride, _ = out[-1]
            gap = code - last
            if gap in (1, 2) and (first == last or gap == stride):
                out[-1] = (first, code, gap, delta)
                continue
        out.append((code, code, 1, delta))
    return out


def specials(entries):
    return [f'{{0x{ord(c):x}, "{"".join(chr(92) + f"{b:03o}" for b in t.encode())}"}}' for c, t in entries]


def write_cases(folder):
    tables, names = set_tables(CASE_SETS)
    text = HEADER + tables
    for name, mapping in (("upper", str.upper), ("lower", str.lower)):
        items = [f"{{0x{a:x}, 0x{b:x}, {s}, {d}}}" for a, b, s, d in runs(mapping)]
        text += f"constexpr std::array<CaseRun, {len(items)}> {name}Table{{{{\n" + "\n".join(lines(items)) + "\n}};\n\n"
        names.append(f"const std::span<const CaseRun> {name}Runs = {name}Table;\n")
    special = {
        "upper": [(c, c.upper()) for c in ALL if len(c.upper()) > 1],
        "lower": [(c, c.lower()) for c in ALL if len(c.lower()) > 1],
        "title": [(c, c.title()) for c in ALL if c.title() != c.upper()],
    }
    for name, entries in special.items():
        items = specials(entries)
        text += f"constexpr std::array<CaseSpecial, {len(items)}> {name}Exceptions{{{{\n"
        text += "\n".join(lines(items)) + "\n}};\n\n"
        names.append(f"const std::span<const CaseSpecial> {name}Specials = {name}Exceptions;\n")
    text += "} // namespace\n\n" + "".join(names) + "\n// clang-format on\n\n} // namespace tokenloupe::jinja\n"
    (folder / "unicodecases.cpp").write_text(text)


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    write_sets(here)
    write_cases(here)
