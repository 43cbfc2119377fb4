// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/mappedfile.h"
#include "engine/base/result.h"
#include "kernels/formats/tensortype.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// An element type of the safetensors format.
struct SafetensorsType
{
    std::string_view name; ///< "BF16"
    std::uint32_t bits = 0;
    std::optional<TensorType> type; ///< nothing: none of ours
};
/// Null: the format has no such type.
const SafetensorsType *safetensorsType(std::string_view name);

struct SafetensorsTensor
{
    std::string name;
    const SafetensorsType *type = nullptr;
    std::vector<std::uint64_t> shape; ///< the last one runs fastest, as in the file
    std::uint64_t begin = 0;          ///< of its data, from the end of the header
    std::uint64_t end = 0;
    std::span<const std::byte> data;
};

/// A safetensors file, memory-mapped: a JSON header that lists tensors, then their data without gaps.
/// Everything is checked before use: the header's length against the file, every number of it against its
/// range, sizes and offsets against wrap-around, the end of the file and each other. Nothing is allocated by
/// a number that the file merely claims. Immutable; may be read from any thread.
class SafetensorsFile
{
public:
    static Result<std::shared_ptr<const SafetensorsFile>> open(const std::filesystem::path &path);
    /// For tests and fuzzing: `bytes` must outlive the object.
    static Result<std::shared_ptr<const SafetensorsFile>> parse(std::span<const std::byte> bytes,
                                                                std::string name);

    const std::string &name() const { return m_name; }
    std::uint64_t dataOffset() const { return m_dataOffset; } ///< where the header ends
    /// In the order of their data.
    const std::vector<SafetensorsTensor> &tensors() const { return m_tensors; }
    const std::map<std::string, std::string, std::less<>> &metadata() const { return m_metadata; }
    void releasePages(std::span<const std::byte> range) const
    {
        if (m_mapping)
            m_mapping->releasePages(range);
    }

private:
    SafetensorsFile() = default;
    Status read(std::span<const std::byte> bytes);
    Status place(std::span<const std::byte> data);

    std::string m_name;
    std::shared_ptr<const MappedFile> m_mapping;
    std::uint64_t m_dataOffset = 0;
    std::vector<SafetensorsTensor> m_tensors;
    std::map<std::string, std::string, std::less<>> m_metadata;
};

} // namespace tokenloupe
