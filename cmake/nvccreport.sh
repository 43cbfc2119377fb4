#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# nvccreport.sh COMPILER ARGUMENTS…: runs the compiler. What its assembler tells of registers and spilled values goes to
# a file beside the object (OBJECT.resources) instead of the terminal; everything else is passed on.
object=
previous=
for argument; do
    if [ "$previous" = -o ]; then object=$argument; fi
    previous=$argument
done
if [ -z "$object" ]; then exec "$@"; fi
"$@" 2>"$object.messages"
status=$?
report='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$report" "$object.messages" >"$object.resources"
grep -vE "$report" "$object.messages" >&2
rm -f "$object.messages"
exit $status
