// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// How float32 values are stored.
enum class StoreAs { F32, F16, Bf16 };

/// Builds safetensors files for tests; the header can be changed before it is written.
class SafetensorsWriter
{
public:
    SafetensorsWriter &tensor(const std::string &name, std::vector<std::uint64_t> shape,
                              std::span<const float> values, StoreAs type = StoreAs::F32);
    SafetensorsWriter &raw(const std::string &name, std::string_view dtype, std::vector<std::uint64_t> shape,
                           std::vector<std::byte> data);

    nlohmann::ordered_json header() const; ///< what bytes() writes
    /// The header ends in spaces, so that the data begins at a multiple of 8.
    std::vector<std::byte> bytes() const;
    /// Another header text in front of the same data, as it is.
    std::vector<std::byte> bytes(std::string_view header) const;
    std::vector<std::string> names() const;

private:
    struct Entry
    {
        std::string name;
        std::string dtype;
        std::vector<std::uint64_t> shape;
        std::vector<std::byte> data;
    };
    std::vector<Entry> m_entries;
};

/// What is left of a value that is stored as a half and read back.
float rounded(float value, StoreAs type);

} // namespace tokenloupe::test
