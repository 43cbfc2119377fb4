// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/shapefields.h"
#include "engine/estimate/shapeplain.h"

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

/// Models of several parts (text and pictures) keep the text model's fields one level down.
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

Result<ModelShape> shapeOfJson(std::string_view text, std::string_view name)
{
    const std::string operation = "read shape " + sanitizedUtf8(name);
    if (isDeeplyNested(text))
        return makeError(ErrorCode::InvalidArgument, operation, "the JSON is nested more than 64 deep");
    const json object = json::parse(withoutPythonNumbers(text), nullptr, false);
    if (object.is_discarded())
        return makeError(ErrorCode::InvalidArgument, operation, "expected JSON, found text that is not");
    if (!object.is_object())
        return makeError(ErrorCode::InvalidArgument, operation,
                         std::string("expected a JSON object, found ") + object.type_name());

    const json whole = withTextPart(object);
    ShapeFields fields(whole, sanitizedUtf8(name));
    const bool isConfig = fields.has({"model_type", "architectures"});
    const bool isPlain = fields.has({"layers", "hidden"});
    if (!isConfig && !isPlain)
        return makeError(ErrorCode::InvalidArgument, operation,
                         "field \"model_type\": expected a config.json, or a shape with \"layers\", "
                         "\"hidden\" and so on; found neither");
    const ShapeSpec spec = isConfig ? specOfConfig(fields) : specOfPlainShape(fields);
    if (!fields.ok())
        return tl::unexpected(fields.status().error());
    return buildShape(spec);
}

} // namespace tokenloupe
