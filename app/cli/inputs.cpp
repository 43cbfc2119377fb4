// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/inputs.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tokenloupe::cli {

namespace {

constexpr std::size_t largestFile = std::size_t(1) << 31; // text ranges are 32-bit

} // namespace

Result<std::string> readFile(const std::string &path)
{
    std::error_code error;
    if (path != "-" && std::filesystem::is_directory(path, error))
        return makeError(ErrorCode::BadFile, path, "is a folder, a file is expected");
    const auto close = [](std::FILE *file) {
        if (file != stdin)
            std::fclose(file);
    };
    std::unique_ptr<std::FILE, decltype(close)> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"),
                                                     close);
    if (!file)
        return makeError(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::IoError, path,
                         std::strerror(errno));
    std::string content;
    std::array<char, 65536> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        content.append(buffer.data(), got);
        if (content.size() > largestFile)
            return makeError(ErrorCode::Unsupported, path, "is larger than 2 GiB");
    }
    if (std::ferror(file.get()))
        return makeError(ErrorCode::IoError, path, std::strerror(errno));
    return content;
}

Result<Json> parseJson(std::string_view text, const std::string &what)
{
    try {
        return Json::parse(text);
    } catch (const Json::exception &exception) {
        return makeError(ErrorCode::BadFile, what, std::string("is not JSON: ") + exception.what());
    }
}

Result<Json> readJsonFile(const std::string &path)
{
    return readFile(path).and_then([&](const std::string &text) { return parseJson(text, path); });
}

Result<std::vector<TokenId>> parseIds(std::string_view text)
{
    std::vector<TokenId> ids;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view part = text.substr(0, comma);
        while (!part.empty() && part.front() == ' ')
            part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ')
            part.remove_suffix(1);
        std::uint32_t value = 0;
        const auto end = std::from_chars(part.data(), part.data() + part.size(), value);
        if (end.ec != std::errc() || end.ptr != part.data() + part.size() || part.empty() ||
            value == TokenId::invalidValue)
            return makeError(ErrorCode::InvalidArgument, "ids",
                             "\"" + std::string(part) + "\" is not a token id; 1,2,3 is expected");
        ids.emplace_back(value);
        if (comma + 1 == text.size())
            return makeError(ErrorCode::InvalidArgument, "ids", "a token id is missing after the last comma");
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return ids;
}

Result<std::vector<TokenId>> idsOf(const Json &list)
{
    if (!list.is_array())
        return makeError(ErrorCode::InvalidArgument, "ids", "a list of token ids is expected");
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const Json &value : list) {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= TokenId::invalidValue)
            return makeError(ErrorCode::InvalidArgument, "ids",
                             value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60) +
                                 " is not a token id");
        ids.emplace_back(value.get<std::uint32_t>());
    }
    return ids;
}

Json jsonOf(const std::vector<TokenId> &ids)
{
    Json list = Json::array();
    for (TokenId id : ids)
        list.push_back(id.value());
    return list;
}

ExitStatus forEachJsonLine(Terminal &terminal, const std::string &path, LineErrors onError,
                           const std::function<Result<Json>(const Json &)> &handle)
{
    const auto content = readFile(path);
    if (!content)
        return terminal.fail(content.error());
    std::size_t number = 0;
    std::size_t bad = 0;
    std::string first;
    for (std::size_t begin = 0; begin < content->size() && terminal.state() == OutputState::Open;) {
        const std::size_t end = std::min(content->find('\n', begin), content->size());
        const std::string_view line = std::string_view(*content).substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos)
            continue;
        const auto result = parseJson(line, path + " line " + std::to_string(number)).and_then(handle);
        if (result) {
            terminal.json(*result);
            continue;
        }
        if (bad++ == 0)
            first = "line " + std::to_string(number) + ": " + result.error().text();
        terminal.json(Json{{"error", result.error().text()}});
    }
    if (bad > 0 && onError == LineErrors::Fail)
        return terminal.fail(path + " has " + std::to_string(bad) + " bad lines; " + first);
    return terminal.end();
}

} // namespace tokenloupe::cli
