// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace cudahost {

/// Where in a kernel's source a thread waits. As a default argument it is the place of the call.
struct SourcePlace
{
    const char *file = "";
    int line = 0;

    static constexpr SourcePlace here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return {file, line};
    }
};

} // namespace cudahost
