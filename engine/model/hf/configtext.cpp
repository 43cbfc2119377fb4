// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/configtext.h"

#include "engine/base/mappedfile.h"
#include "engine/base/utf8.h"

#include <algorithm>
#include <array>

namespace tokenloupe {

using nlohmann::json;

namespace {

/// Python writes the numbers that JSON has not as NaN, Infinity and -Infinity. No size is one of them: they
/// become null. Texts stay as they are.
std::string withoutPythonNumbers(std::string_view text)
{
    constexpr std::array<std::string_view, 3> words = {"-Infinity", "Infinity", "NaN"};
    std::string out;
    out.reserve(text.size());
    bool inText = false;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '"')
            inText = !inText;
        if (inText && text[i] == '\\' && i + 1 < text.size()) {
            out.append(text.substr(i, 2));
            i += 2;
            continue;
        }
        const auto word = std::find_if(words.begin(), words.end(), [&](std::string_view w) {
            return !inText && text.substr(i).starts_with(w);
        });
        out.append(word != words.end() ? std::string_view("null") : text.substr(i, 1));
        i += word != words.end() ? word->size() : 1;
    }
    return out;
}

/// Refuses nesting that no config has, before a parser builds it.
bool isDeeplyNested(std::string_view text)
{
    constexpr int deepest = 64;
    int depth = 0;
    bool inText = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inText && c == '\\')
            ++i;
        else if (c == '"')
            inText = !inText;
        else if (!inText && (c == '[' || c == '{') && ++depth > deepest)
            return true;
        else if (!inText && (c == ']' || c == '}'))
            --depth;
    }
    return false;
}

} // namespace

Result<std::string> readTextFile(const std::filesystem::path &path, std::uint64_t mostBytes)
{
    const auto file = MappedFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    const std::span<const std::byte> bytes = (*file)->bytes();
    const std::string operation = "read " + sanitizedUtf8(path.string());
    if (bytes.size() > mostBytes)
        return makeError(ErrorCode::BadFile, operation,
                         "expected at most " + std::to_string(mostBytes) + " bytes, found " +
                             std::to_string(bytes.size()));
    if (Status there = readAhead(bytes); !there)
        return makeError(there.error().code, operation, there.error().message);
    return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Result<json> parseConfigText(std::string_view text, const JsonSource &source)
{
    if (isDeeplyNested(text))
        return makeError(source.wrong, source.operation, "the JSON is nested more than 64 deep");
    json object = json::parse(withoutPythonNumbers(text), nullptr, false);
    if (object.is_discarded())
        return makeError(source.wrong, source.operation, "expected JSON, found text that is not");
    if (!object.is_object())
        return makeError(source.wrong, source.operation,
                         std::string("expected a JSON object, found ") + object.type_name());
    return object;
}

json withTextPart(const json &object)
{
    json whole = object;
    for (const char *name : {"text_config", "language_config", "llm_config"}) {
        const auto part = object.find(name);
        if (part == object.end() || !part->is_object())
            continue;
        whole.update(*part);
        whole.erase(name);
    }
    return whole;
}

} // namespace tokenloupe
