// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inputs.h"
#include "app/cli/scoring.h"
#include "app/cli/sessionoptions.h"
#include "app/cli/table.h"
#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenloupe::cli {

namespace {

struct ScoreOptions
{
    Format format = Format::Text;
    std::string model;
    std::optional<std::string> file;
    std::optional<std::string> ids;
    bool special = false;
    std::uint32_t top = 0;
    std::optional<std::string> against;
    SessionOptions session;
};

Result<std::vector<TokenId>> scoredIds(const ScoreOptions &options, const LoadedModel &model)
{
    if (options.ids)
        return parseIds(*options.ids);
    return readFile(*options.file)
        .and_then([&](const std::string &text) {
            return rawPrompt(model, text, options.special ? SpecialTokens::Parse : SpecialTokens::AsText);
        })
        .map([](const PromptTokens &prompt) { return prompt.ids(); });
}

/// The text sets the context; one longer than the model was trained for is scored all the same.
void fitContext(CommandSet &set, const LoadedModel &model, std::size_t tokens, SessionSettings &settings)
{
    if (settings.contextTokens == 0)
        settings.contextTokens = static_cast<std::uint32_t>(std::max<std::size_t>(tokens, 1));
    if (tokens > model.config().contextTrain)
        set.terminal.message("warning: " + std::to_string(tokens) + " tokens are more than the " +
                             std::to_string(model.config().contextTrain) + " that the model was trained for");
}

Status sameVocabulary(const LoadedModel &a, const LoadedModel &b)
{
    if (a.config().vocabulary != b.config().vocabulary)
        return makeError(ErrorCode::InvalidArgument, "--against",
                         "the vocabularies differ: " + std::to_string(a.config().vocabulary) + " and " +
                             std::to_string(b.config().vocabulary) + " tokens");
    const auto &left = a.model->vocabulary().texts;
    const auto &right = b.model->vocabulary().texts;
    const auto difference = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    if (difference.first != left.end() || difference.second != right.end())
        return makeError(ErrorCode::InvalidArgument, "--against",
                         "the vocabularies differ from token " +
                             std::to_string(difference.first - left.begin()) + " on");
    return {};
}

Json listOf(const std::vector<double> &values)
{
    Json list = Json::array();
    for (double value : values)
        list.push_back(number(value));
    return list;
}

Json scoreJson(const Scores &scores, const ScoreOptions &options)
{
    Json out{{"ids", jsonOf(scores.ids)},
             {"nll", listOf(scores.nll)},
             {"mean_nll", scores.nll.empty() ? Json() : number(scores.meanNll())},
             {"perplexity", scores.nll.empty() ? Json() : number(std::exp(scores.meanNll()))},
             {"argmax", jsonOf(scores.argmax)},
             {"precision", options.session.precision},
             {"quantize", loadQuantizationName(options.session.loadOptions().quantization)}};
    if (options.top > 0) {
        out["logsumexp"] = listOf(scores.logSumExp);
        Json positions = Json::array();
        for (const auto &best : scores.top) {
            Json list = Json::array();
            for (const Candidate &c : best)
                list.push_back({c.id.value(), number(c.logit)});
            positions.push_back(std::move(list));
        }
        out["top"] = std::move(positions);
    }
    if (options.against) {
        out["kl"] = listOf(scores.kl);
        out["mean_kl"] = number(scores.against.meanKl());
        out["max_kl"] = number(scores.against.largestKl());
        out["argmax_equal"] = number(scores.against.argmaxEqualShare());
    }
    return out;
}

std::string scoreText(const Scores &scores, const ScoreOptions &options, const Tokenizer &tokenizer)
{
    std::vector<Table::Column> columns{{"position", Align::Right},
                                       {"id", Align::Right},
                                       {"text", Align::Left},
                                       {"nll", Align::Right},
                                       {"argmax after", Align::Left}};
    if (options.against)
        columns.push_back({"KL", Align::Right});
    Table table(std::move(columns));
    const auto name = [&](TokenId id) {
        return id.value() < tokenizer.size() ? "\"" + std::string(tokenizer.bytes(id)) + "\"" : std::string();
    };
    for (std::size_t i = 0; i < scores.ids.size(); ++i)
        table.row({std::to_string(i), std::to_string(scores.ids[i].value()), name(scores.ids[i]),
                   i == 0 ? "" : fixed(scores.nll[i - 1], 5), name(scores.argmax[i]),
                   options.against ? fixed(scores.kl[i], 8) : ""});
    std::string text = table.text() + "\n";
    if (!scores.nll.empty())
        text += "mean nll " + fixed(scores.meanNll(), 6) + ", perplexity " +
                fixed(std::exp(scores.meanNll()), 4) + "\n";
    if (options.against)
        text += "mean KL " + fixed(scores.against.meanKl(), 8) + ", equal argmax " +
                fixed(100.0 * scores.against.argmaxEqualShare(), 2) + " %\n";
    return text;
}

/// The rows of the other run, kept to be compared with; spilled to a file where they are many.
std::shared_ptr<LogitStore> referenceRows(CommandSet &set, const ScoreOptions &options,
                                          const std::shared_ptr<const LoadedModel> &model,
                                          const std::vector<TokenId> &ids, ExitStatus &status)
{
    std::shared_ptr<const LoadedModel> other = model;
    if (*options.against != "exact") {
        other = loadModelShowing(set, *options.against, ModelLoadOptions(), status);
        if (!other)
            return nullptr;
        if (Status same = sameVocabulary(*model, *other); !same) {
            status = set.terminal.fail(same.error());
            return nullptr;
        }
    }
    SessionSettings settings; // exact, float32 cache
    settings.threads = static_cast<int>(options.session.threads);
    settings.contextTokens = static_cast<std::uint32_t>(std::max<std::size_t>(ids.size(), 1));
    settings.logitBudgetBytes = 0;
    const auto session = openSession(set, other, settings, status);
    if (!session)
        return nullptr;
    constexpr std::uint64_t inMemory = std::uint64_t(256) << 20;
    auto rows = std::make_shared<LogitStore>(inMemory);
    const auto scored = session->score(
        ids,
        [&](std::uint32_t position, std::span<const float> row) {
            rows->put({RunId(0), StepIndex(position)}, row);
        },
        set.interrupt.token());
    if (!scored) {
        status = set.terminal.fail(scored.error());
        return nullptr;
    }
    return rows;
}

ExitStatus runScore(CommandSet &set, const ScoreOptions &options)
{
    Terminal &terminal = set.terminal;
    if (options.file.has_value() == options.ids.has_value())
        return terminal.usage("score: give one of --file, --ids");
    auto settings = options.session.settings();
    if (!settings)
        return terminal.usage("score: " + settings.error().text());
    if (options.ids) {
        if (const auto ids = parseIds(*options.ids); !ids)
            return terminal.usage("score: " + ids.error().text());
    }
    ExitStatus status = ExitStatus::Done;
    const auto model = loadModelShowing(set, options.model, options.session.loadOptions(), status);
    if (!model)
        return status;
    const auto ids = scoredIds(options, *model);
    if (!ids)
        return terminal.fail(ids.error());
    if (ids->empty())
        return terminal.fail("score: there is no token to score");
    if (Status known = checkIds(*model, *ids); !known)
        return terminal.fail(known.error());
    fitContext(set, *model, ids->size(), *settings);

    std::shared_ptr<LogitStore> reference;
    if (options.against) {
        reference = referenceRows(set, options, model, *ids, status);
        if (!reference)
            return status;
    }
    const auto session = openSession(set, model, *settings, status);
    if (!session)
        return status;
    Scorer scorer(*ids, options.top, std::move(reference));
    const auto scored = session->score(
        *ids, [&](std::uint32_t position, std::span<const float> row) { scorer.take(position, row); },
        set.interrupt.token());
    if (!scored)
        return terminal.fail(scored.error());
    const auto scores = scorer.finish();
    if (!scores)
        return terminal.fail(scores.error());
    if (options.format == Format::JsonLines)
        terminal.json(scoreJson(*scores, options));
    else
        terminal.text(scoreText(*scores, options, *model->tokenizer));
    return terminal.end();
}

} // namespace

void addScore(CommandSet &set)
{
    auto options = std::make_shared<ScoreOptions>();
    CLI::App *command = addCommand(set, "score", "How likely a text is, token by token", options, runScore);
    command->add_option("model", options->model, "GGUF file or Hugging Face folder")->required();
    command->add_option("--file", options->file,
                        "The text; BOS is added as the model wants; - is standard input");
    command->add_option("--ids", options->ids, "Token ids, taken as they are: 1,2,3");
    command->add_flag("--special", options->special, "Control tokens written in the text are control tokens");
    command->add_option("--top", options->top, "The K largest logits of every position");
    command->add_option(
        "--against", options->against,
        "exact, or another model with the same vocabulary: divergence of this run from that one");
    options->session.addTo(*command);
}

} // namespace tokenloupe::cli
