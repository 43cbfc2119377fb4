// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "kernels/formats/tensortype.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tokenloupe {

/// Element types of cached keys and values. The block types share one scale (and one offset) among 32
/// neighbouring values of a head.
enum class KvType : std::uint8_t { F32, F16, BF16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0 };

std::string_view kvTypeName(KvType type); ///< "q8_0"
Result<KvType> kvTypeOf(std::string_view name);
std::span<const KvType> kvTypes();    ///< all of them, the most exact first
TensorType tensorTypeOf(KvType type); ///< the same layout among the file's types

/// Bytes of one head's key or value of `values` numbers; a head that is no multiple of the type's block is
/// rounded up (see checkKvType()).
std::uint64_t kvRowBytes(KvType type, std::uint32_t values);
/// InvalidArgument where heads of `values` numbers cannot be stored as `type`: block types need a multiple
/// of 32.
Status checkKvType(KvType type, std::uint32_t values, std::string_view what);

} // namespace tokenloupe
