// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/estimatetext.h"

#include "app/cli/table.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>

namespace tokenloupe::cli {

namespace {

/// What no number exists for is null.
Json rateJson(const SpeedBound &bound)
{
    return bound.tokensPerSecond > 0.0 ? number(bound.tokensPerSecond) : Json();
}

Json partJson(const EstimatePart &part)
{
    Json detail = Json::array();
    for (const auto &[name, bytes] : part.detail)
        detail.push_back({{"name", name}, {"bytes", bytes}});
    Json out{{"name", part.name}, {"bytes", part.bytes}, {"how", part.how}, {"title", part.title}};
    if (!detail.empty())
        out["detail"] = std::move(detail);
    return out;
}

std::uint64_t plannedBytes(const Estimate &estimate, std::string_view name)
{
    for (const EstimatePart &part : estimate.parts) {
        if (part.name == name)
            return part.bytes;
    }
    return 0;
}

/// Planned bytes that a measured part is to be compared with: the buffers are several parts of the plan.
std::uint64_t plannedFor(const Estimate &estimate, const std::string &name)
{
    if (name == "total")
        return estimate.totalBytes;
    if (name == "buffers")
        return plannedBytes(estimate, "activations") + plannedBytes(estimate, "logits") +
               plannedBytes(estimate, "runtime") + plannedBytes(estimate, "trace");
    return plannedBytes(estimate, name);
}

std::int64_t excess(std::uint64_t measured, std::uint64_t planned)
{
    return static_cast<std::int64_t>(measured) - static_cast<std::int64_t>(planned);
}

void addMeasured(Json &out, const Estimate &estimate, const MeasuredMemory &measured)
{
    out["measured"] = Json::array();
    Json unexplained = Json::object();
    for (const auto &[name, bytes] : measured.parts) {
        out["measured"].push_back({{"name", name}, {"bytes", bytes}});
        unexplained[name] = excess(bytes, plannedFor(estimate, name));
    }
    out["measured"].push_back({{"name", "total"}, {"bytes", measured.total}});
    unexplained["total"] = excess(measured.total, estimate.totalBytes);
    out["unexplained"] = std::move(unexplained);
}

std::string boundText(const SpeedBound &bound, const char *what)
{
    if (bound.tokensPerSecond <= 0.0)
        return std::string(what) + " not known: " + bound.how + "\n";
    return std::string(what) + " at most " +
           fixed(bound.tokensPerSecond, bound.tokensPerSecond < 100 ? 2 : 0) + " tokens/s\n    " + bound.how +
           "\n";
}

std::string countOrAny(std::uint64_t count)
{
    return count >= (std::uint64_t(1) << 40) ? "more than 10^12" : countText(count);
}

std::string measuredText(const Estimate &estimate, const MeasuredMemory &measured)
{
    Table table({{"measured", Align::Left},
                 {"planned", Align::Right},
                 {"measured", Align::Right},
                 {"difference", Align::Right}});
    auto parts = measured.parts;
    parts.emplace_back("total", measured.total);
    for (const auto &[name, bytes] : parts) {
        const std::uint64_t planned = plannedFor(estimate, name);
        const double share =
            planned > 0 ? 100.0 * (static_cast<double>(bytes) / static_cast<double>(planned) - 1.0) : 0.0;
        table.row({name, byteText(planned), byteText(bytes), planned > 0 ? fixed(share, 1) + " %" : "–"});
    }
    return table.text();
}

} // namespace

Json estimateJson(const EstimateRequest &request, const Estimate &estimate,
                  const std::optional<MeasuredMemory> &measured)
{
    Json out;
    out["model"] = request.shape->name;
    out["parts"] = Json::array();
    for (const EstimatePart &part : estimate.parts)
        out["parts"].push_back(partJson(part));
    out["total_bytes"] = estimate.totalBytes;
    out["capacity_bytes"] = estimate.capacityBytes;
    out["fits"] = estimate.fits;
    out["max_context"] = estimate.maxContext;
    out["max_batch"] = estimate.maxBatch;
    out["kv_bytes_per_token"] = estimate.kvBytesPerToken;
    out["kv_by_layer"] = estimate.kvByLayer;
    out["decode_tps_bound"] = rateJson(estimate.decode);
    out["prefill_tps_bound"] = rateJson(estimate.prefill);
    out["decode_how"] = estimate.decode.how;
    out["prefill_how"] = estimate.prefill.how;
    out["verdict"] = estimate.verdict;
    out["offload_layers"] = estimate.offloadLayers;
    out["offload_fits"] = estimate.offloadFits;
    out["devices"] = Json::array();
    for (const DeviceShare &share : estimate.devices)
        out["devices"].push_back({{"name", share.gpu.name},
                                  {"memory_bytes", share.gpu.memoryBytes},
                                  {"layers", share.layers},
                                  {"bytes", share.bytes},
                                  {"fits", share.fits}});
    out["warnings"] = estimate.warnings;
    out["textbook"] = Json::array();
    for (const TextbookFormula &formula : estimate.textbook)
        out["textbook"].push_back({{"name", formula.name},
                                   {"formula", formula.formula},
                                   {"says", formula.says},
                                   {"right", formula.right},
                                   {"reason", formula.reason}});
    out["attention"] = Json::array();
    for (const AttentionVariant &variant :
         attentionVariants(*request.shape, request.keyType, request.valueType))
        out["attention"].push_back({{"name", variant.name},
                                    {"bytes_per_token", variant.bytesPerToken},
                                    {"ratio", number(variant.ratio)},
                                    {"own", variant.isOwn},
                                    {"how", variant.how}});
    if (measured)
        addMeasured(out, estimate, *measured);
    return out;
}

std::string estimateText(const EstimateRequest &request, const Estimate &estimate,
                         const std::optional<MeasuredMemory> &measured)
{
    std::string text = request.shape->name + ", " + plural(request.contextTokens, "token") + " of context, " +
                       plural(request.batch, "sequence") + "\n\n";
    Table parts({{"part", Align::Left}, {"bytes", Align::Right}, {"", Align::Right}, {"how", Align::Left}});
    for (const EstimatePart &part : estimate.parts)
        parts.row({part.title, countText(part.bytes), byteText(part.bytes), part.how});
    parts.row({"Total", countText(estimate.totalBytes), byteText(estimate.totalBytes), ""});
    text += parts.text() + "\n" + estimate.verdict + "\n";
    text += "Largest context that fits: " + countOrAny(estimate.maxContext) +
            " tokens; largest batch: " + countOrAny(estimate.maxBatch) + "\n";
    text += "Keys and values: " + countText(estimate.kvBytesPerToken) + " bytes a token\n";
    if (estimate.devices.size() > 1) {
        Table cards(
            {{"card", Align::Left}, {"layers", Align::Right}, {"bytes", Align::Right}, {"", Align::Left}});
        for (const DeviceShare &share : estimate.devices)
            cards.row({share.gpu.name, std::to_string(share.layers), byteText(share.bytes),
                       share.fits ? "fits" : "does not fit"});
        text += "\n" + cards.text();
    }
    text += "\n" + boundText(estimate.decode, "Decode") + boundText(estimate.prefill, "Prefill");
    if (measured)
        text += "\n" + measuredText(estimate, *measured);
    for (const std::string &warning : estimate.warnings)
        text += "\nWarning: " + warning;
    return estimate.warnings.empty() ? text : text + "\n";
}

Json fitTableJson(const FitTable &table)
{
    Json rows = Json::array();
    for (std::size_t type = 0; type < table.weightTypes.size(); ++type) {
        Json cells = Json::array();
        for (std::size_t i = 0; i < table.contexts.size(); ++i)
            cells.push_back({{"context", table.contexts[i]},
                             {"total_bytes", table.cells[type][i].bytes},
                             {"fits", table.cells[type][i].fits}});
        rows.push_back({{"weights", table.weightTypes[type]}, {"cells", std::move(cells)}});
    }
    return {{"table", std::move(rows)}};
}

std::string fitTableText(const FitTable &table)
{
    std::vector<Table::Column> columns{{"weights", Align::Left}};
    for (const std::uint64_t context : table.contexts)
        columns.push_back({countText(context), Align::Right});
    Table out(std::move(columns));
    for (std::size_t type = 0; type < table.weightTypes.size(); ++type) {
        std::vector<std::string> row{table.weightTypes[type]};
        for (const FitCell &cell : table.cells[type])
            row.push_back(byteText(cell.bytes) + (cell.fits ? "  fits" : "     –"));
        out.row(std::move(row));
    }
    return out.text();
}

Json gpuListJson(const std::vector<Gpu> &gpus)
{
    Json list = Json::array();
    for (const Gpu &gpu : gpus)
        list.push_back({{"name", gpu.name},
                        {"maker", gpu.maker},
                        {"kind", gpu.kind},
                        {"memory_bytes", gpu.memoryBytes},
                        {"bandwidth_bytes_per_s", number(gpu.bandwidth)},
                        {"half_flops", number(gpu.halfFlops)},
                        {"year", gpu.year},
                        {"shared", gpu.isShared}});
    return {{"gpus", std::move(list)}};
}

std::string gpuListText(const std::vector<Gpu> &gpus)
{
    Table table({{"card", Align::Left},
                 {"maker", Align::Left},
                 {"kind", Align::Left},
                 {"memory", Align::Right},
                 {"GB/s", Align::Right},
                 {"TFLOP/s f16", Align::Right},
                 {"year", Align::Right}});
    for (const Gpu &gpu : gpus)
        table.row({gpu.name, gpu.maker, gpu.kind, byteText(gpu.memoryBytes), fixed(gpu.bandwidth / 1e9, 0),
                   fixed(gpu.halfFlops / 1e12, 1), gpu.year > 0 ? std::to_string(gpu.year) : "–"});
    return table.text();
}

} // namespace tokenloupe::cli
