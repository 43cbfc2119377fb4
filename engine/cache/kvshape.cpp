// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"
#include "engine/cache/checkedmath.h"

namespace tokenloupe {

std::string_view kvTypeName(KvType type)
{
    return type == KvType::F16 ? "f16" : "f32";
}

Result<KvType> kvTypeOf(std::string_view name)
{
    for (const KvType type : {KvType::F32, KvType::F16}) {
        if (name == kvTypeName(type))
            return type;
    }
    return makeError(ErrorCode::InvalidArgument, "KV cache type",
                     std::string(name) + " is not one of f32, f16");
}

std::uint32_t kvTypeBytes(KvType type)
{
    return type == KvType::F16 ? 2 : 4;
}

std::uint64_t KvShape::bytesPerToken(std::uint32_t layer) const
{
    const CheckedSize head =
        CheckedSize(headSize) * kvTypeBytes(keyType) + CheckedSize(valueHeadSize) * kvTypeBytes(valueType);
    return (head * kvHeads[layer]).value();
}

std::uint64_t KvShape::bytesPerToken() const
{
    CheckedSize sum;
    for (std::uint32_t layer = 0; layer < layers(); ++layer)
        sum += CheckedSize(bytesPerToken(layer));
    return sum.value();
}

} // namespace tokenloupe
