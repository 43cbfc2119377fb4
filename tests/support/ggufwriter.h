// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// Appends numbers and counted strings as GGUF stores them.
class ByteWriter
{
public:
    template <class T>
    ByteWriter &number(T value)
    {
        return raw(std::as_bytes(std::span<const T, 1>(&value, 1)));
    }
    ByteWriter &string(std::string_view text); ///< 64-bit length, then the bytes
    ByteWriter &raw(std::span<const std::byte> bytes);
    ByteWriter &text(std::string_view bytes); ///< the bytes alone
    ByteWriter &padTo(std::size_t multiple);

    const std::vector<std::byte> &bytes() const { return m_bytes; }
    std::size_t size() const { return m_bytes.size(); }

private:
    std::vector<std::byte> m_bytes;
};

/// Builds GGUF files for tests: right ones with the typed calls, wrong ones with the raw calls and overrides.
class GgufWriter
{
public:
    explicit GgufWriter(std::uint32_t version = 3)
        : m_version(version)
    {}

    GgufWriter &u8(std::string_view key, std::uint8_t value) { return scalar(key, 0, value); }
    GgufWriter &i8(std::string_view key, std::int8_t value) { return scalar(key, 1, value); }
    GgufWriter &u16(std::string_view key, std::uint16_t value) { return scalar(key, 2, value); }
    GgufWriter &i16(std::string_view key, std::int16_t value) { return scalar(key, 3, value); }
    GgufWriter &u32(std::string_view key, std::uint32_t value) { return scalar(key, 4, value); }
    GgufWriter &i32(std::string_view key, std::int32_t value) { return scalar(key, 5, value); }
    GgufWriter &f32(std::string_view key, float value) { return scalar(key, 6, value); }
    GgufWriter &boolean(std::string_view key, bool value) { return scalar(key, 7, std::uint8_t(value)); }
    GgufWriter &u64(std::string_view key, std::uint64_t value) { return scalar(key, 10, value); }
    GgufWriter &i64(std::string_view key, std::int64_t value) { return scalar(key, 11, value); }
    GgufWriter &f64(std::string_view key, double value) { return scalar(key, 12, value); }
    GgufWriter &string(std::string_view key, std::string_view value);
    GgufWriter &strings(std::string_view key, std::span<const std::string> values);
    GgufWriter &floats(std::string_view key, std::span<const float> values);
    GgufWriter &integers(std::string_view key, std::span<const std::int32_t> values);
    /// A value of any type id, `bytes` as they are to stand in the file.
    GgufWriter &rawValue(std::string_view key, std::uint32_t typeId, std::span<const std::byte> bytes);
    /// Takes a key away again, for files that lack it.
    GgufWriter &without(std::string_view key);

    /// `shape[0]` runs fastest. The offset is the next free aligned place.
    GgufWriter &tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t typeId,
                       std::span<const std::byte> data);
    GgufWriter &withoutTensor(std::string_view name);

    /// Writes the key too, and aligns the data by it.
    GgufWriter &alignment(std::uint32_t value);
    /// Aligns by `value` whatever the keys say.
    GgufWriter &dataAlignment(std::uint32_t value);
    GgufWriter &claimKeys(std::uint64_t count);
    GgufWriter &claimTensors(std::uint64_t count);
    /// What the file says about tensor `name`, in place of the truth.
    GgufWriter &claimOffset(std::string_view name, std::uint64_t offset);
    GgufWriter &claimDimensions(std::string_view name, std::uint32_t count);
    GgufWriter &claimShape(std::string_view name, std::vector<std::uint64_t> shape);
    GgufWriter &claimType(std::string_view name, std::uint32_t typeId);

    std::vector<std::byte> bytes() const;
    void write(const std::filesystem::path &path) const;

private:
    struct Key
    {
        std::string name;
        std::uint32_t typeId = 0;
        std::vector<std::byte> value;
    };
    struct Tensor
    {
        std::string name;
        std::vector<std::uint64_t> shape;
        std::uint32_t typeId = 0;
        std::vector<std::byte> data;
        std::optional<std::uint64_t> offset;
        std::optional<std::uint32_t> dimensions;
    };

    template <class T>
    GgufWriter &scalar(std::string_view key, std::uint32_t typeId, T value)
    {
        return rawValue(key, typeId, std::as_bytes(std::span<const T, 1>(&value, 1)));
    }
    Tensor &tensorNamed(std::string_view name);

    std::uint32_t m_version;
    std::uint32_t m_alignment = 32;
    std::optional<std::uint64_t> m_claimedKeys;
    std::optional<std::uint64_t> m_claimedTensors;
    std::vector<Key> m_keys;
    std::vector<Tensor> m_tensors;
};

/// Writes bytes to a file; the path comes back for use in the same expression.
std::filesystem::path writeBytes(const std::filesystem::path &path, std::span<const std::byte> bytes);
std::vector<std::byte> readBytes(const std::filesystem::path &path);

} // namespace tokenloupe::test
