// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/estimateoptions.h"

#include "engine/compute/backend.h"
#include "engine/memory/mappedpages.h"
#include "engine/model/model.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace tokenloupe::cli {

namespace {

constexpr std::uint32_t mostThreads = 1024;

/// $XDG_CONFIG_HOME/tokenloupe/gpus.json, nothing without a home.
std::filesystem::path userGpuFile()
{
    const auto variable = [](const char *name) {
        const char *value = std::getenv(name);
        return std::filesystem::path(value ? value : "");
    };
    std::filesystem::path base = variable("XDG_CONFIG_HOME");
    if (base.empty() && !variable("HOME").empty())
        base = variable("HOME") / ".config";
    return base.empty() ? base : base / "tokenloupe" / "gpus.json";
}

Result<std::shared_ptr<const ModelShape>> sharedShape(Result<ModelShape> shape)
{
    if (!shape)
        return tl::unexpected(shape.error());
    return std::make_shared<const ModelShape>(std::move(*shape));
}

/// A file, or a built-in name.
Result<std::shared_ptr<const ModelShape>> shapeOf(const std::string &text)
{
    std::error_code error;
    if (std::filesystem::exists(text, error))
        return sharedShape(readModelShape(text));
    auto shape = builtInShape(text);
    if (!shape && text.find_first_of("/\\") != std::string::npos)
        return makeError(ErrorCode::NotFound, text, "no such file");
    return sharedShape(std::move(shape));
}

/// What a model says beyond its shape about this program: its configuration, where it can run, and its
/// vocabulary. Where it does not say, typical numbers are taken later.
void addFileFacts(const std::string &path, EstimateRequest &request)
{
    const auto container = openModelContainer(path);
    if (!container)
        return;
    if (const auto config = (*container)->readConfig(); config && !config->spec.name.empty())
        request.config = *config;
    if (const auto data = (*container)->readVocabulary(nullptr))
        request.vocabulary = vocabularyFacts(*data, (*container)->headerBytes(),
                                             (*container)->readChatTemplate(nullptr).size());
}

} // namespace

void EstimateOptions::addTo(CLI::App &command)
{
    command.add_option("model", model,
                       "GGUF file, Hugging Face folder or config.json; only headers are read");
    command.add_option("--shape", shape, "A config.json, a shape file, or a built-in name instead of MODEL");
    command.add_option("-c,--context", context, "Tokens of each sequence")->capture_default_str();
    command.add_option("-b,--batch", batch, "Sequences at the same time")->capture_default_str();
    command.add_option("--micro-batch", microBatch, "Tokens of one forward call; default: 512, here 256");
    command.add_option("--kv-type-k", keyType, "Element type of cached keys")->capture_default_str();
    command.add_option("--kv-type-v", valueType, "Element type of cached values")->capture_default_str();
    command.add_option("--weights", weights, "Type of the weights: F16, Q8_0, Q4_K_M, …; default: as stored");
    command.add_option("--gpu", gpus, "Card by name; again for several at once")->allow_extra_args(false);
    command.add_option("--vram", vram, "Memory in bytes, or with a unit (24GiB)");
    command.add_flag("--this-machine", thisMachine, "What this program takes on this machine's processor");
    command.add_flag("--measure", measure, "Load MODEL here, run one step and compare");
    command.add_option("--flash-attention", flashAttention, "on, or off: all scores are stored")
        ->check(CLI::IsMember({"on", "off"}));
    command.add_option("--layout", layout, "paged or contiguous")
        ->check(CLI::IsMember({"paged", "contiguous"}));
    command.add_option("--block-tokens", blockTokens, "Tokens of a block of the cache")
        ->capture_default_str();
    command.add_option("--beams", beams, "Hypotheses of each sequence")->capture_default_str();
    command.add_option("--prompt", promptTokens, "Tokens of the prompt, which beams share; default: half");
    command.add_option("--draft", draft, "Draft model of speculative decoding: file or built-in shape");
    command.add_option("--draft-weights", draftWeights, "Type of its weights");
    command.add_option("--split", split, "Several cards: whole layers, or each matrix in parts (tensors)")
        ->check(CLI::IsMember({"layers", "tensors"}));
    command.add_option("--host-memory", hostMemory,
                       "For layers that the cards do not hold; default: this machine's");
    command.add_option("-t,--threads", threads, "Threads of this program; default: one for each core")
        ->check(CLI::Range(1U, mostThreads));
    command.add_flag("--table", table, "Weight types × contexts instead: what fits");
    command.add_flag("--list-gpus", listGpus, "The cards that are known");
    command.add_flag("--list-shapes", listShapes, "The built-in shapes");
}

std::string EstimateOptions::conflict() const
{
    if (listGpus || listShapes)
        return {};
    if (model.empty() == shape.empty())
        return "give a MODEL or --shape, one of them";
    if (thisMachine && (!gpus.empty() || !vram.empty()))
        return "one of --gpu, --vram, --this-machine";
    if (measure && (model.empty() || !isForThisProgram()))
        return "--measure loads a MODEL on this machine: not with --shape, --gpu or --vram";
    if (measure && (table || batch != 1 || beams != 1 || !draft.empty() || !loadQuantizationOf(weights)))
        return "--measure runs the model here: not with --table, --batch, --beams, --draft, and --weights "
               "only as run's --quantize";
    return {};
}

Result<std::uint64_t> bytesOf(std::string_view text)
{
    static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 14> units = {{
        {"", 1},
        {"B", 1},
        {"K", 1ULL << 10},
        {"KiB", 1ULL << 10},
        {"M", 1ULL << 20},
        {"MiB", 1ULL << 20},
        {"G", 1ULL << 30},
        {"GiB", 1ULL << 30},
        {"T", 1ULL << 40},
        {"TiB", 1ULL << 40},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", 1000000000000},
    }};
    const auto wrong = [&] {
        return makeError(ErrorCode::InvalidArgument, "",
                         "bytes are expected, or a number with KiB, MiB, GiB, TiB, not \"" +
                             std::string(text) + "\"");
    };
    double number = 0.0;
    std::uint64_t whole = 0;
    const char *end = text.data() + text.size();
    const auto asWhole = std::from_chars(text.data(), end, whole);
    const auto asNumber = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (asNumber.ec != std::errc() || text.empty() || text.front() == '-')
        return wrong();
    std::string_view unit(asNumber.ptr, static_cast<std::size_t>(end - asNumber.ptr));
    while (!unit.empty() && unit.front() == ' ')
        unit.remove_prefix(1);
    for (const auto &[name, factor] : units) {
        if (name != unit)
            continue;
        if (asWhole.ec == std::errc() && asWhole.ptr == asNumber.ptr && factor == 1 && whole > 0)
            return whole;
        const double bytes = number * static_cast<double>(factor);
        if (bytes < 1.0 || bytes > 9.2e18)
            return wrong();
        return static_cast<std::uint64_t>(bytes);
    }
    return wrong();
}

Result<GpuCatalogue> userCatalogue()
{
    auto catalogue = GpuCatalogue::builtIn();
    const std::filesystem::path file = userGpuFile();
    std::error_code error;
    if (catalogue && !file.empty() && std::filesystem::exists(file, error)) {
        if (Status added = catalogue->addFile(file); !added)
            return tl::unexpected(added.error());
    }
    return catalogue;
}

std::string optionOf(const Error &error)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> names = {{
        {"context", "--context"},
        {"batch", "--batch"},
        {"micro-batch", "--micro-batch"},
        {"block tokens", "--block-tokens"},
        {"beams", "--beams"},
        {"prompt", "--prompt"},
        {"threads", "--threads"},
        {"capacity", "--vram"},
        {"key type", "--kv-type-k"},
        {"value type", "--kv-type-v"},
        {"weights", "--weights"},
    }};
    for (const auto &[setting, option] : names) {
        if (error.code == ErrorCode::InvalidArgument && error.operation == setting)
            return std::string(option);
    }
    return {};
}

tl::expected<EstimateRequest, RequestError> estimateRequest(const EstimateOptions &options)
{
    const auto fail = [](const Error &error) { return tl::unexpected(RequestError{error, false}); };
    const auto usage = [](std::string option, const Error &error) {
        return tl::unexpected(
            RequestError{{ErrorCode::InvalidArgument, std::move(option), error.message}, true});
    };
    EstimateRequest request;
    const auto keys = kvTypeOf(options.keyType);
    if (!keys)
        return usage("--kv-type-k", keys.error());
    const auto values = kvTypeOf(options.valueType);
    if (!values)
        return usage("--kv-type-v", values.error());
    for (const auto &[text, bytes, option] :
         {std::tuple(&options.vram, &request.capacityBytes, "--vram"),
          std::tuple(&options.hostMemory, &request.hostBytes, "--host-memory")}) {
        if (text->empty())
            continue;
        const auto number = bytesOf(*text);
        if (!number)
            return usage(option, number.error());
        *bytes = *number;
    }
    request.programBytes = options.isForThisProgram() ? programMemory() : 0;
    auto shape = options.model.empty() ? shapeOf(options.shape) : sharedShape(readModelShape(options.model));
    if (!shape)
        return fail(shape.error());
    request.shape = std::move(*shape);
    if (!options.draft.empty()) {
        auto draft = shapeOf(options.draft);
        if (!draft)
            return fail(draft.error());
        request.draft = std::move(*draft);
    }
    const auto catalogue = userCatalogue();
    if (!catalogue)
        return fail(catalogue.error());
    for (const std::string &name : options.gpus) {
        auto gpu = catalogue->find(name);
        if (!gpu)
            return fail(gpu.error());
        request.devices.push_back(std::move(*gpu));
    }
    request.keyType = *keys;
    request.valueType = *values;
    request.weightType = options.weights;
    request.draftWeightType = options.draftWeights;
    request.contextTokens = options.context;
    request.batch = options.batch;
    request.microBatch = options.microBatch;
    request.layout = options.layout == "paged" ? KvLayout::Paged : KvLayout::Contiguous;
    request.blockTokens = options.blockTokens;
    request.attention = options.flashAttention == "on" ? AttentionKind::Flash : AttentionKind::ScoreMatrix;
    request.beams = options.beams;
    request.promptTokens = options.promptTokens;
    request.split = options.split == "layers" ? SplitKind::Layers : SplitKind::Tensors;
    request.threads = options.threads > 0 ? options.threads : static_cast<std::uint32_t>(usableCores());
    if (options.isForThisProgram()) {
        request.target = EstimateTarget::ThisProgram;
        request.devices = {thisMachine()};
        if (!options.model.empty())
            addFileFacts(options.model, request);
    }
    return request;
}

} // namespace tokenloupe::cli
