#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes resources/unicodeforms.txt: what Unicode's normalisation forms need, from Python's Unicode database."""
import sys
import unicodedata


def main():
    out = [f"# Unicode {unicodedata.unidata_version}. Made by scripts/unicodeforms.py.",
           "# CLASS FIRST-LAST …: canonical combining classes. CODE=…: canonical decomposition, CODE!…: one that is",
           "# not composed again, CODE~…: compatibility decomposition."]
    classes = {}
    decompositions = []
    for code in range(0x110000):
        character = chr(code)
        combining = unicodedata.combining(character)
        if combining:
            ranges = classes.setdefault(combining, [])
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
        fields = unicodedata.decomposition(character).split()
        if not fields or 0xAC00 <= code <= 0xD7A3:
            continue
        if fields[0].startswith("<"):
            sign, fields = "~", fields[1:]
        else:
            sign = "=" if unicodedata.normalize("NFC", character) == character else "!"
        decompositions.append(f"{code:X}{sign}" + ",".join(f.lstrip("0") for f in fields))
    for combining, ranges in sorted(classes.items()):
        out.append(f"{combining} " + " ".join(f"{a:X}-{b:X}" for a, b in ranges))
    line = ""
    for entry in decompositions:
        if len(line) + len(entry) > 118:
            out.append(line)
            line = ""
        line += (" " if line else "") + entry
    out.append(line)
    with open(sys.argv[1] if len(sys.argv) > 1 else "resources/unicodeforms.txt", "w", encoding="ascii",
              errors="replace") as file:
        file.write("\n".join(out).replace("…", "...") + "\n")


main()
