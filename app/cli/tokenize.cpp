// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "app/cli/vocabularyinput.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/tokenizer.h"

namespace tokenloupe::cli {

namespace {

struct TokenizeOptions
{
    Format format = Format::Text;
    std::string model;
    std::optional<std::string> text;
    std::optional<std::string> file;
    std::optional<std::string> jsonl;
    bool special = false;
    bool addSpecial = false;
    bool merges = false;
    bool decode = false;

    EncodeOptions encodeOptions() const
    {
        EncodeOptions encode;
        encode.special = special ? SpecialTokens::Parse : SpecialTokens::AsText;
        encode.add = addSpecial ? AddSpecial::AsModelWants : AddSpecial::No;
        return encode;
    }
};

const char *kindName(TokenKind kind)
{
    switch (kind) {
    case TokenKind::Control:
        return "control";
    case TokenKind::UserDefined:
        return "user";
    case TokenKind::Byte:
        return "byte";
    case TokenKind::Unknown:
        return "unknown";
    case TokenKind::Normal:
    case TokenKind::Unused:
        break;
    }
    return "normal";
}

/// The vocabulary alone: works with files that hold no weights.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(Terminal &terminal, const std::string &path)
{
    std::vector<std::string> warnings;
    auto data = readAnyVocabulary(path, &warnings);
    if (!data)
        return tl::unexpected(data.error());
    terminal.warnings(warnings);
    return makeTokenizer(std::move(*data));
}

Json tokenJson(const Tokenizer &tokenizer, const EncodedToken &token)
{
    const std::string_view bytes = tokenizer.bytes(token.id);
    return {{"id", token.id.value()}, {"text", sanitizedUtf8(bytes)},
            {"hex", hexOf(bytes)},    {"begin", token.range.begin},
            {"end", token.range.end}, {"kind", kindName(tokenizer.kind(token.id))}};
}

Json mergesJson(const std::vector<MergeStep> &merges)
{
    Json list = Json::array();
    for (const MergeStep &merge : merges)
        list.push_back({{"left", sanitizedUtf8(merge.left)},
                        {"right", sanitizedUtf8(merge.right)},
                        {"result", sanitizedUtf8(merge.result)},
                        {"rank", merge.rank},
                        {"word", merge.word}});
    return list;
}

Json idList(const std::vector<EncodedToken> &tokens)
{
    Json list = Json::array();
    for (const EncodedToken &token : tokens)
        list.push_back(token.id.value());
    return list;
}

Result<Json> decodeJson(const Tokenizer &tokenizer, const TokenizeOptions &options,
                        const std::vector<TokenId> &ids)
{
    for (TokenId id : ids) {
        if (id.value() >= tokenizer.size())
            return makeError(ErrorCode::InvalidArgument, "token id " + std::to_string(id.value()),
                             "the vocabulary has " + std::to_string(tokenizer.size()) + " tokens");
    }
    const std::string bytes = tokenizer.decode(ids, options.special ? ShowControl::Yes : ShowControl::No);
    return Json{{"text", sanitizedUtf8(bytes)}, {"hex", hexOf(bytes)}};
}

Result<std::string> lineText(const Json &line)
{
    if (line.is_object() && line.contains("text") && line["text"].is_string())
        return line["text"].get<std::string>();
    if (line.is_object() && line.contains("hex") && line["hex"].is_string())
        return bytesOfHex(line["hex"].get_ref<const std::string &>());
    return makeError(ErrorCode::InvalidArgument, "line", "{\"text\": …} or {\"hex\": …} is expected");
}

ExitStatus runLines(CommandSet &set, const TokenizeOptions &options, const Tokenizer &tokenizer)
{
    return forEachJsonLine(
        set.terminal, *options.jsonl, LineErrors::Fail, [&](const Json &line) -> Result<Json> {
            if (options.decode) {
                if (!line.is_object() || !line.contains("ids"))
                    return makeError(ErrorCode::InvalidArgument, "line", "{\"ids\": […]} is expected");
                return idsOf(line["ids"]).and_then([&](const std::vector<TokenId> &ids) {
                    return decodeJson(tokenizer, options, ids);
                });
            }
            auto text = lineText(line);
            if (!text)
                return tl::unexpected(text.error());
            EncodeOptions encode = options.encodeOptions();
            std::vector<MergeStep> merges;
            if (options.merges)
                encode.merges = &merges;
            auto tokens = tokenizer.encode(*text, encode);
            if (!tokens)
                return tl::unexpected(tokens.error());
            Json out{{"ids", idList(*tokens)}};
            if (options.merges)
                out["merges"] = mergesJson(merges);
            return out;
        });
}

std::string tokenTable(const Json &result)
{
    Table tokens({{"id", Align::Right},
                  {"text", Align::Left},
                  {"hex", Align::Left},
                  {"begin", Align::Right},
                  {"end", Align::Right},
                  {"kind", Align::Left}});
    for (const Json &token : result["tokens"])
        tokens.row({token["id"].dump(), "\"" + token["text"].get<std::string>() + "\"",
                    token["hex"].get<std::string>(), token["begin"].dump(), token["end"].dump(),
                    token["kind"].get<std::string>()});
    std::string text = tokens.text();
    if (!result.contains("merges"))
        return text;
    Table merges({{"word", Align::Right},
                  {"rank", Align::Right},
                  {"left", Align::Left},
                  {"right", Align::Left},
                  {"result", Align::Left}});
    for (const Json &merge : result["merges"])
        merges.row({merge["word"].dump(), merge["rank"].dump(), merge["left"].get<std::string>(),
                    merge["right"].get<std::string>(), merge["result"].get<std::string>()});
    return text + "\n" + merges.text();
}

ExitStatus runDecode(CommandSet &set, const TokenizeOptions &options, const Tokenizer &tokenizer,
                     const std::string &text)
{
    const auto ids = parseIds(text);
    if (!ids)
        return set.terminal.fail(ids.error());
    const auto decoded = decodeJson(tokenizer, options, *ids);
    if (!decoded)
        return set.terminal.fail(decoded.error());
    if (options.format == Format::JsonLines)
        set.terminal.json(*decoded);
    else
        set.terminal.text(streamText((*decoded)["text"].get<std::string>()) + "\n");
    return set.terminal.end();
}

ExitStatus runTokenize(CommandSet &set, const TokenizeOptions &options)
{
    if (int(options.text.has_value()) + int(options.file.has_value()) + int(options.jsonl.has_value()) != 1)
        return set.terminal.usage("tokenize: give one of TEXT, --file, --jsonl");
    auto tokenizer = openTokenizer(set.terminal, options.model);
    if (!tokenizer)
        return set.terminal.fail(tokenizer.error());
    if (options.jsonl)
        return runLines(set, options, **tokenizer);

    const Result<std::string> text = options.file ? readFile(*options.file) : *options.text;
    if (!text)
        return set.terminal.fail(text.error());
    if (options.decode)
        return runDecode(set, options, **tokenizer, *text);
    EncodeOptions encode = options.encodeOptions();
    std::vector<MergeStep> merges;
    if (options.merges)
        encode.merges = &merges;
    const auto tokens = (*tokenizer)->encode(*text, encode);
    if (!tokens)
        return set.terminal.fail(tokens.error());
    Json list = Json::array();
    for (const EncodedToken &token : *tokens)
        list.push_back(tokenJson(**tokenizer, token));
    Json out{{"ids", idList(*tokens)}, {"tokens", std::move(list)}};
    if (options.merges)
        out["merges"] = mergesJson(merges);
    if (options.format == Format::JsonLines)
        set.terminal.json(out);
    else
        set.terminal.text(tokenTable(out));
    return set.terminal.end();
}

} // namespace

void addTokenize(CommandSet &set)
{
    auto options = std::make_shared<TokenizeOptions>();
    CLI::App *command = addCommand(set, "tokenize", "Text to token ids and back", options, runTokenize);
    command
        ->add_option("model", options->model,
                     "GGUF file (one with a vocabulary only will do), Hugging Face folder, "
                     "tokenizer.json or tokenizer.model")
        ->required();
    command->add_option("text", options->text, "The text (with --decode: ids, 1,2,3)");
    command->add_option("--file", options->file, "Take the text from a file; - is standard input");
    command->add_option("--jsonl", options->jsonl,
                        "A {\"text\"} or {\"hex\"} a line in, {\"ids\"} a line out");
    command->add_flag("--special", options->special, "Control tokens written in the text are control tokens");
    command->add_flag("--add-special", options->addSpecial, "Add BOS and EOS as the model wants");
    command->add_flag("--merges", options->merges, "Show the merges in the order applied");
    command->add_flag("--decode", options->decode, "From ids to text");
}

} // namespace tokenloupe::cli
