// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/gpucatalogue.h"

#include "engine/estimate/gpudata.h"
#include "engine/estimate/nearestnames.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

namespace tokenloupe {

namespace {

using Json = nlohmann::ordered_json;

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t longestName = 100;
constexpr double largestGib = 1 << 20;
constexpr double largestBandwidth = 1e6; ///< GB/s
constexpr double largestTflops = 1e6;
constexpr std::uintmax_t largestFile = 16 << 20;

/// Name without what people write or leave out: maker, brand, punctuation.
std::string lookupKey(std::string_view name)
{
    std::string key = comparableName(name);
    for (const std::string_view word :
         {"nvidia", "geforce", "amd", "radeon", "intel", "apple", "graphics", "gpu"}) {
        for (std::size_t at = key.find(word); at != std::string::npos; at = key.find(word)) {
            if (key.size() == word.size())
                return key; // nothing else would be left
            key.erase(at, word.size());
        }
    }
    return key;
}

/// Reads one row, each field checked; the first thing that is wrong is said.
class RowReader
{
public:
    RowReader(const Json &row, std::string where)
        : m_row(row)
        , m_where(std::move(where))
    {}

    Result<Gpu> read()
    {
        if (!m_row.is_object()) {
            fail("an object is expected");
            return tl::unexpected(m_error);
        }
        Gpu gpu;
        gpu.name = text("name", true);
        gpu.maker = text("maker", false);
        gpu.kind = text("kind", false);
        gpu.memoryBytes =
            static_cast<std::uint64_t>(std::llround(number("memory_gib", 0.0625, largestGib) * gibibyte));
        gpu.bandwidth = number("bandwidth_gbs", 0.1, largestBandwidth) * 1e9;
        gpu.halfFlops = number("fp16_tflops", 0.001, largestTflops) * 1e12;
        if (m_row.contains("year"))
            gpu.year = static_cast<std::uint32_t>(number("year", 1990, 2100));
        if (m_row.contains("shared")) {
            if (m_row["shared"].is_boolean())
                gpu.isShared = m_row["shared"].get<bool>();
            else
                fail("\"shared\": true or false is expected");
        }
        if (!m_error.message.empty())
            return tl::unexpected(m_error);
        return gpu;
    }

private:
    void fail(const std::string &message)
    {
        if (m_error.message.empty())
            m_error = Error{ErrorCode::BadFile, m_where, message};
    }

    std::string text(const char *key, bool isNeeded)
    {
        if (!m_row.contains(key)) {
            if (isNeeded)
                fail("\"" + std::string(key) + "\" is missing");
            return {};
        }
        const Json &value = m_row[key];
        const std::string result = value.is_string() ? value.get<std::string>() : std::string();
        if (!value.is_string() || result.size() > longestName || (isNeeded && lookupKey(result).empty()))
            fail("\"" + std::string(key) + "\": a text of 1 to " + std::to_string(longestName) +
                 " bytes is expected");
        return result;
    }

    double number(const char *key, double least, double most)
    {
        const Json value = m_row.contains(key) ? m_row[key] : Json();
        const double result = value.is_number() ? value.get<double>() : 0.0;
        if (value.is_number() && result >= least && result <= most)
            return result;
        std::ostringstream words;
        words << '"' << key << "\": a number from " << least << " to " << most << " is expected, "
              << (value.is_null() ? std::string("there is none")
                                  : "found " + value.dump(-1, ' ', false, Json::error_handler_t::replace));
        fail(words.str());
        return least;
    }

    const Json &m_row;
    std::string m_where;
    Error m_error;
};

Result<std::vector<Gpu>> readRows(const std::string &text, const std::string &what)
{
    const Json list = Json::parse(text, nullptr, false);
    if (list.is_discarded() || !list.is_array())
        return makeError(ErrorCode::BadFile, what, "a JSON list of cards is expected");
    std::vector<Gpu> gpus;
    std::size_t number = 0;
    for (const Json &row : list) {
        auto gpu = RowReader(row, what + ", card " + std::to_string(++number)).read();
        if (!gpu)
            return tl::unexpected(gpu.error());
        const auto same = [&](const Gpu &other) { return lookupKey(other.name) == lookupKey(gpu->name); };
        if (std::any_of(gpus.begin(), gpus.end(), same))
            return makeError(ErrorCode::BadFile, what + ", card " + std::to_string(number),
                             "\"name\": \"" + gpu->name + "\" is there twice");
        gpus.push_back(std::move(*gpu));
    }
    return gpus;
}

Json rowOf(const Gpu &gpu)
{
    Json row{{"name", gpu.name},
             {"maker", gpu.maker},
             {"kind", gpu.kind},
             {"memory_gib", static_cast<double>(gpu.memoryBytes) / gibibyte},
             {"bandwidth_gbs", gpu.bandwidth / 1e9},
             {"fp16_tflops", gpu.halfFlops / 1e12}};
    if (gpu.year > 0)
        row["year"] = gpu.year;
    if (gpu.isShared)
        row["shared"] = true;
    return row;
}

} // namespace

Result<GpuCatalogue> GpuCatalogue::builtIn()
{
    auto rows = readRows(builtInGpuData, "built-in list of cards");
    if (!rows)
        return tl::unexpected(rows.error());
    GpuCatalogue catalogue;
    catalogue.m_gpus = std::move(*rows);
    return catalogue;
}

Status GpuCatalogue::addFile(const std::filesystem::path &path)
{
    std::error_code error;
    if (std::filesystem::file_size(path, error) > largestFile || error)
        return makeError(error ? ErrorCode::NotFound : ErrorCode::BadFile, path.string(),
                         error ? error.message() : "a list of cards is expected, this is larger than 16 MiB");
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        return makeError(ErrorCode::IoError, path.string(), "cannot be read");
    const auto rows = readRows(text.str(), path.string());
    if (!rows)
        return tl::unexpected(rows.error());
    for (const Gpu &gpu : *rows) {
        if (Status added = add(gpu); !added)
            return added;
    }
    return {};
}

Status GpuCatalogue::add(Gpu gpu)
{
    // The same checks as for a file's row, so that what was added can be saved and read again.
    auto checked = RowReader(rowOf(gpu), "card \"" + gpu.name.substr(0, longestName) + "\"").read();
    if (!checked)
        return makeError(ErrorCode::InvalidArgument, checked.error().operation, checked.error().message);
    const std::string key = lookupKey(gpu.name);
    const auto known = std::find_if(m_gpus.begin(), m_gpus.end(),
                                    [&](const Gpu &other) { return lookupKey(other.name) == key; });
    if (std::find(m_added.begin(), m_added.end(), key) == m_added.end())
        m_added.push_back(key);
    if (known != m_gpus.end())
        *known = std::move(gpu);
    else
        m_gpus.push_back(std::move(gpu));
    return {};
}

Status GpuCatalogue::save(const std::filesystem::path &path) const
{
    Json list = Json::array();
    for (const Gpu &gpu : m_gpus) {
        if (std::find(m_added.begin(), m_added.end(), lookupKey(gpu.name)) != m_added.end())
            list.push_back(rowOf(gpu));
    }
    std::error_code error;
    if (path.has_parent_path())
        std::filesystem::create_directories(path.parent_path(), error);
    // Written aside and moved, so that a full disk does not cost the old list.
    const std::filesystem::path aside = path.string() + ".new";
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << list.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    file.close();
    if (!file)
        return makeError(ErrorCode::IoError, path.string(), "cannot be written");
    std::filesystem::rename(aside, path, error);
    if (error)
        return makeError(ErrorCode::IoError, path.string(), error.message());
    return {};
}

Result<Gpu> GpuCatalogue::find(std::string_view name) const
{
    const std::string key = lookupKey(name.substr(0, longestName));
    const Gpu *ending = nullptr;
    const Gpu *containing = nullptr;
    int endings = 0;
    int containings = 0;
    std::vector<std::string> names;
    for (const Gpu &gpu : m_gpus) {
        const std::string own = lookupKey(gpu.name);
        if (own == key)
            return gpu;
        names.push_back(gpu.name);
        if (key.empty() || own.find(key) == std::string::npos)
            continue;
        containing = &gpu;
        ++containings;
        if (own.ends_with(key)) {
            ending = &gpu;
            ++endings;
        }
    }
    // "4090" means the RTX 4090, though there is one for laptops too.
    if (endings == 1)
        return *ending;
    if (containings == 1)
        return *containing;
    return makeError(ErrorCode::NotFound, "card \"" + std::string(name.substr(0, longestName)) + "\"",
                     (containings > 1 ? "could be several: " : "is not in the list; the nearest are ") +
                         nearestNamesText(name.substr(0, longestName), names));
}

} // namespace tokenloupe
