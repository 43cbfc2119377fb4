// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/terminal.h"

#include "engine/base/utf8.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tokenloupe::cli {

namespace {

constexpr std::string_view programName = "tokenloupe-cli";

enum class LineBreaks { Escape, Keep };

std::string cleaned(std::string_view text, LineBreaks lineBreaks)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t offset = 0; offset < text.size();) {
        const Utf8Unit unit = decodeUtf8(text, offset);
        const char32_t c = unit.valid ? unit.codePoint : 0xFFFD;
        offset += unit.length;
        if ((c == '\n' || c == '\t') && lineBreaks == LineBreaks::Keep)
            out += static_cast<char>(c);
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (c == '\r')
            out += "\\r";
        else if (c < 0x20 || (c >= 0x7F && c < 0xA0)) {
            const auto byte = static_cast<unsigned char>(c);
            out += "\\x" + hexOf(std::string(1, static_cast<char>(byte)));
        } else
            appendUtf8(out, c);
    }
    return out;
}

std::string special(double value)
{
    if (std::isnan(value))
        return "nan";
    return value > 0 ? "inf" : "-inf";
}

} // namespace

std::string visibleText(std::string_view text)
{
    return cleaned(text, LineBreaks::Escape);
}

std::string streamText(std::string_view text)
{
    return cleaned(text, LineBreaks::Keep);
}

Json number(double value)
{
    if (!std::isfinite(value))
        return special(value);
    return value;
}

Json number(float value)
{
    if (!std::isfinite(value))
        return special(static_cast<double>(value));
    // The double nearest to the float's shortest decimal prints as that decimal and reads back as the same
    // float.
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    double wide = 0.0;
    std::from_chars(digits.data(), end, wide);
    return wide;
}

bool Terminal::write(std::string_view bytes)
{
    if (m_state != OutputState::Open)
        return false;
    errno = 0;
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0)
        return true;
    m_errno = errno;
    m_state = m_errno == EPIPE ? OutputState::Closed : OutputState::Failed;
    return false;
}

bool Terminal::json(const Json &value)
{
    return write(value.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

bool Terminal::text(std::string_view text)
{
    return write(text);
}

void Terminal::message(std::string_view text)
{
    std::string line(programName);
    line += ": ";
    line += visibleText(text);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void Terminal::warnings(const std::vector<std::string> &list)
{
    if (list.empty())
        return;
    std::string text = "warning: " + list.front();
    if (list.size() > 1)
        text += " (and " + std::to_string(list.size() - 1) + " more: see inspect)";
    message(text);
}

ExitStatus Terminal::fail(const Error &error)
{
    if (error.code == ErrorCode::Cancelled) {
        message("cancelled");
        return ExitStatus::Cancelled;
    }
    std::string text = error.text();
    if (error.deviceLayers > 0)
        text += " (--device-layers " + std::to_string(error.deviceLayers) + ")";
    return fail(text);
}

ExitStatus Terminal::fail(std::string_view text)
{
    constexpr std::size_t longest = 1000;
    std::string line(text.substr(0, longest));
    if (text.size() > longest)
        line += "…";
    message(line.empty() ? "failed" : line);
    return ExitStatus::Failed;
}

ExitStatus Terminal::usage(std::string_view text)
{
    message(std::string(text) + " (--help shows the options)");
    return ExitStatus::Usage;
}

ExitStatus Terminal::end()
{
    if (m_state == OutputState::Open)
        return ExitStatus::Done;
    if (m_state == OutputState::Failed)
        message(std::string("write standard output: ") + std::strerror(m_errno));
    return ExitStatus::Failed;
}

} // namespace tokenloupe::cli
