// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvtype.h"

#include <array>
#include <string>

namespace tokenloupe {

namespace {

struct KvTypeRow
{
    KvType type;
    std::string_view name;
    TensorType stored;
};

constexpr std::array<KvTypeRow, 8> rows = {{
    {KvType::F32, "f32", TensorType::F32},
    {KvType::F16, "f16", TensorType::F16},
    {KvType::BF16, "bf16", TensorType::BF16},
    {KvType::Q8_0, "q8_0", TensorType::Q8_0},
    {KvType::Q5_1, "q5_1", TensorType::Q5_1},
    {KvType::Q5_0, "q5_0", TensorType::Q5_0},
    {KvType::Q4_1, "q4_1", TensorType::Q4_1},
    {KvType::Q4_0, "q4_0", TensorType::Q4_0},
}};

const KvTypeRow &rowOf(KvType type)
{
    return rows[static_cast<std::size_t>(type)];
}

} // namespace

std::string_view kvTypeName(KvType type)
{
    return rowOf(type).name;
}

Result<KvType> kvTypeOf(std::string_view name)
{
    std::string known;
    for (const KvTypeRow &row : rows) {
        if (row.name == name)
            return row.type;
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    return makeError(ErrorCode::InvalidArgument, "KV cache type",
                     std::string(name) + " is not one of " + known);
}

std::span<const KvType> kvTypes()
{
    static constexpr auto types = [] {
        std::array<KvType, rows.size()> all{};
        for (std::size_t i = 0; i < rows.size(); ++i)
            all[i] = rows[i].type;
        return all;
    }();
    return types;
}

TensorType tensorTypeOf(KvType type)
{
    return rowOf(type).stored;
}

std::uint64_t kvRowBytes(KvType type, std::uint32_t values)
{
    const TensorTypeTraits &traits = traitsOf(tensorTypeOf(type));
    return (std::uint64_t(values) + traits.blockValues - 1) / traits.blockValues * traits.blockBytes;
}

Status checkKvType(KvType type, std::uint32_t values, std::string_view what)
{
    const std::uint32_t block = traitsOf(tensorTypeOf(type)).blockValues;
    if (values % block == 0)
        return {};
    return makeError(ErrorCode::InvalidArgument, "KV cache type",
                     std::string(kvTypeName(type)) + " needs " + std::string(what) +
                         " heads of a multiple of " + std::to_string(block) + " numbers, this model has " +
                         std::to_string(values));
}

} // namespace tokenloupe
