// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/mappedfile.h"
#include "engine/base/result.h"
#include "engine/base/textlist.h"
#include "kernels/formats/tensortype.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tokenloupe {

enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// An array value: element type, count and the raw bytes in the mapping (already checked to lie within it
/// and, for strings, to hold `count` well-formed lengths).
struct GgufArray
{
    GgufType type = GgufType::U8;
    std::uint64_t count = 0;
    std::span<const std::byte> bytes;
};

/// A scalar: unsigned, signed, floating, boolean, string (raw bytes; need not be UTF-8) or array.
using GgufScalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray>;

struct GgufValue
{
    GgufType type = GgufType::U8;
    GgufScalar value;
};

struct GgufTensor
{
    std::string name;
    TensorType type = TensorType::F32;
    std::uint32_t dimensions = 0;
    std::array<std::uint64_t, 4> shape{1, 1, 1, 1}; ///< shape[0] runs fastest, as in the file
    std::uint64_t offset = 0;                       ///< from the start of the data section
    std::uint64_t bytes = 0;
    std::uint32_t part = 0;     ///< of a split file: which one holds it, from 0
    std::uint64_t position = 0; ///< of the data from the start of that file
    std::span<const std::byte> data;

    std::uint64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

/// A GGUF container (versions 2 and 3), memory-mapped. Everything is checked before use: counts and lengths
/// against the bytes that remain, types against their tables, sizes and offsets against wrap-around, the end
/// of the file and each other. Nothing is allocated by a number that the file merely claims.
/// Immutable; may be read from any thread. Views stay valid as long as the object lives.
class GgufFile
{
public:
    static Result<std::shared_ptr<const GgufFile>> open(const std::filesystem::path &path);
    /// The same; of a file that is split into several, any of which may be given, all: the keys of the first
    /// one with the tensors of all. A part that is missing, or says something else than the others, is named.
    static Result<std::shared_ptr<const GgufFile>> openWhole(const std::filesystem::path &path);
    /// For tests and fuzzing: `bytes` must outlive the object.
    static Result<std::shared_ptr<const GgufFile>> parse(std::span<const std::byte> bytes, std::string name);

    const std::string &name() const { return m_name; } ///< file name for messages
    std::uint32_t version() const { return m_version; }
    std::uint64_t alignment() const { return m_alignment; }
    std::uint64_t dataOffset() const { return m_dataOffset; } ///< of the data section, from the file's start
    const std::map<std::string, GgufValue, std::less<>> &metadata() const { return m_metadata; }
    const std::vector<std::string> &keyOrder() const { return m_keyOrder; }
    const std::vector<GgufTensor> &tensors() const { return m_tensors; }
    const GgufTensor *tensor(std::string_view name) const;
    /// The names of the files that it is split into; empty: it is one.
    const std::vector<std::string> &partNames() const { return m_partNames; }
    /// Of all parts: what was read before the tensors.
    std::uint64_t headerBytes() const;
    /// As MappedFile has it; nothing for a range that is no part of the mapping.
    void releasePages(std::span<const std::byte> range) const;

    const GgufValue *find(std::string_view key) const;
    /// Typed reads. Missing: NotFound-like BadFile naming the key; wrong type: BadFile naming both types.
    Result<std::uint64_t> unsignedValue(std::string_view key) const; ///< any non-negative integer type
    Result<double> floatValue(std::string_view key) const;           ///< f32 or f64
    Result<bool> boolValue(std::string_view key) const;
    Result<std::string_view> stringValue(std::string_view key) const;
    Result<std::vector<std::string>> stringArray(std::string_view key) const;
    Result<TextList> textList(std::string_view key) const; ///< the same in less memory
    Result<std::vector<float>> floatArray(std::string_view key) const;
    Result<std::vector<std::int64_t>> integerArray(std::string_view key) const;

private:
    friend class GgufParser;
    friend class GgufJoiner;
    GgufFile() = default;

    std::string m_name;
    std::shared_ptr<const MappedFile> m_mapping;
    std::uint32_t m_version = 0;
    std::uint64_t m_alignment = 32;
    std::uint64_t m_dataOffset = 0;
    std::map<std::string, GgufValue, std::less<>> m_metadata;
    std::vector<std::string> m_keyOrder;
    std::vector<GgufTensor> m_tensors;
    std::map<std::string, std::size_t, std::less<>> m_tensorIndex;
    std::vector<std::shared_ptr<const GgufFile>> m_parts; ///< that the keys and tensors lie in
    std::vector<std::string> m_partNames;
};

const char *ggufTypeName(GgufType type);

} // namespace tokenloupe
