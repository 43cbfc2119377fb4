// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/safetensorswriter.h"

#include "tests/support/ggufwriter.h"

#include <bit>
#include <cmath>

namespace tokenloupe::test {

namespace {

/// To the nearest bfloat16, ties to even; the values of tests are finite.
std::uint16_t toBf16(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

/// To the nearest binary16, ties to even, by what a half can hold: 11 bits, no step finer than 2^-24.
std::uint16_t toF16(float value)
{
    if (value == 0.0F)
        return std::signbit(value) ? 0x8000U : 0U;
    const double magnitude = std::abs(static_cast<double>(value));
    const int exponent = std::max(std::ilogb(magnitude), -14);
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    // Values below 2^-14 have the exponent field 0; steps of 2048 carry into the next exponent.
    const std::uint32_t half = steps + static_cast<std::uint32_t>(exponent + 14) * 1024U;
    return static_cast<std::uint16_t>(half | (std::signbit(value) ? 0x8000U : 0U));
}

double fromF16(std::uint16_t half)
{
    const int field = (half >> 10) & 31;
    const int fraction = half & 1023;
    const double magnitude = field == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, field - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

} // namespace

float rounded(float value, StoreAs type)
{
    if (type == StoreAs::Bf16)
        return std::bit_cast<float>(std::uint32_t{toBf16(value)} << 16);
    return type == StoreAs::F16 ? static_cast<float>(fromF16(toF16(value))) : value;
}

SafetensorsWriter &SafetensorsWriter::tensor(const std::string &name, std::vector<std::uint64_t> shape,
                                             std::span<const float> values, StoreAs type)
{
    ByteWriter data;
    for (const float value : values) {
        if (type == StoreAs::F32)
            data.number(value);
        else
            data.number(type == StoreAs::F16 ? toF16(value) : toBf16(value));
    }
    const char *dtype = type == StoreAs::F32 ? "F32" : type == StoreAs::F16 ? "F16" : "BF16";
    return raw(name, dtype, std::move(shape), data.bytes());
}

SafetensorsWriter &SafetensorsWriter::raw(const std::string &name, std::string_view dtype,
                                          std::vector<std::uint64_t> shape, std::vector<std::byte> data)
{
    m_entries.push_back({name, std::string(dtype), std::move(shape), std::move(data)});
    return *this;
}

nlohmann::ordered_json SafetensorsWriter::header() const
{
    nlohmann::ordered_json json{{"__metadata__", {{"format", "pt"}}}};
    std::uint64_t begin = 0;
    for (const Entry &entry : m_entries) {
        const std::uint64_t end = begin + entry.data.size();
        json[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
        begin = end;
    }
    return json;
}

std::vector<std::byte> SafetensorsWriter::bytes() const
{
    std::string text = header().dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return bytes(text);
}

std::vector<std::byte> SafetensorsWriter::bytes(std::string_view header) const
{
    ByteWriter file;
    file.number(std::uint64_t{header.size()}).text(header);
    for (const Entry &entry : m_entries)
        file.raw(entry.data);
    return file.bytes();
}

std::vector<std::string> SafetensorsWriter::names() const
{
    std::vector<std::string> names;
    for (const Entry &entry : m_entries)
        names.push_back(entry.name);
    return names;
}

} // namespace tokenloupe::test
