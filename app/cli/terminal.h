// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/exitstatus.h"
#include "engine/base/result.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::cli {

using Json = nlohmann::ordered_json;

enum class Format { Text, JsonLines };
enum class OutputState { Open, Closed, Failed };

/// Standard output (results only) and standard error (messages, one line each). A reader that goes away
/// closes the output: later writes do nothing and say so, and the program ends without a word.
class Terminal
{
public:
    /// One object on a line of its own, flushed. False when nobody can get it.
    bool json(const Json &value);
    /// Text as it is, flushed.
    bool text(std::string_view text);
    OutputState state() const { return m_state; }

    void message(std::string_view text);
    /// At most one line, however many there are.
    void warnings(const std::vector<std::string> &list);
    ExitStatus fail(const Error &error);
    ExitStatus fail(std::string_view message);
    ExitStatus usage(std::string_view message);
    /// Done, or Failed when the output could not be written; says why unless the reader just left.
    ExitStatus end();

private:
    bool write(std::string_view bytes);

    OutputState m_state = OutputState::Open;
    int m_errno = 0;
};

/// For a line of text that people read: bad UTF-8 as U+FFFD, control characters as \n, \t, \x1b.
std::string visibleText(std::string_view text);
/// For text that streams to a terminal: as visibleText, but line breaks and tabs stay.
std::string streamText(std::string_view text);

/// Numbers that JSON cannot hold are the strings "nan", "inf", "-inf"; a float has the digits that a float
/// needs.
Json number(double value);
Json number(float value);

} // namespace tokenloupe::cli
