// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/kernelcases.h"

#include "tests/kernels/superreference.h"

#include <cmath>
#include <limits>

namespace tokenloupe::test {

namespace {

std::uint32_t littleEndian(const std::byte *p, int bytes)
{
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
        value |= std::to_integer<std::uint32_t>(p[i]) << (8 * i);
    return value;
}

std::uint32_t halfByte(const std::byte *bytes, int value)
{
    const std::uint32_t byte = std::to_integer<std::uint32_t>(bytes[value % 16]);
    return value < 16 ? byte % 16 : byte / 16;
}

double plainValue(TensorType type, const std::byte *p)
{
    if (type == TensorType::F16)
        return referenceHalf(std::uint16_t(littleEndian(p, 2)));
    const std::uint32_t bits = type == TensorType::BF16 ? littleEndian(p, 2) << 16 : littleEndian(p, 4);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return double(value);
}

double blockValue(TensorType type, const std::byte *p, int i)
{
    const double d = referenceHalf(std::uint16_t(littleEndian(p, 2)));
    switch (type) {
    case TensorType::Q4_0:
        return d * (int(halfByte(p + 2, i)) - 8);
    case TensorType::Q4_1:
        return d * halfByte(p + 4, i) + referenceHalf(std::uint16_t(littleEndian(p + 2, 2)));
    case TensorType::Q5_0:
        return d * (int(halfByte(p + 6, i) + 16 * (littleEndian(p + 2, 4) >> i & 1)) - 16);
    case TensorType::Q5_1:
        return d * (halfByte(p + 8, i) + 16 * (littleEndian(p + 4, 4) >> i & 1)) +
               referenceHalf(std::uint16_t(littleEndian(p + 2, 2)));
    case TensorType::Q8_0: {
        const int byte = std::to_integer<int>(p[2 + i]);
        return d * (byte < 128 ? byte : byte - 256);
    }
    default:
        return superBlockValue(type, p, i);
    }
}

std::size_t bytesOf(TensorType type, std::int64_t columns)
{
    return std::size_t(columns) / traitsOf(type).blockValues * traitsOf(type).blockBytes;
}

} // namespace

const char *isaName(IsaLevel level)
{
    switch (level) {
    case IsaLevel::Portable:
        return "portable";
    case IsaLevel::Avx2:
        return "AVX2";
    case IsaLevel::Avx512:
        return "AVX-512";
    }
    return "";
}

void addIsaRows()
{
    QTest::addColumn<IsaLevel>("isa");
    for (const IsaLevel level : isaLevels)
        QTest::newRow(isaName(level)) << level;
}

double referenceHalf(std::uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const int fraction = half & 1023;
    double magnitude = 0;
    if (exponent == 31)
        magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
        magnitude = std::ldexp(fraction, -24);
    else
        magnitude = std::ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

std::vector<double> referenceValues(TensorType type, const std::byte *bytes, std::int64_t columns)
{
    const TensorTypeTraits &traits = traitsOf(type);
    std::vector<double> values;
    for (std::int64_t c = 0; c < columns; ++c) {
        const std::byte *block = bytes + c / traits.blockValues * traits.blockBytes;
        values.push_back(traits.blockValues == 1 ? plainValue(type, block)
                                                 : blockValue(type, block, int(c % traits.blockValues)));
    }
    return values;
}

RandomMatrix::RandomMatrix(TensorType type, std::int64_t rows, std::int64_t columns, unsigned seed)
    : m_type(type)
    , m_rows(rows)
    , m_columns(columns)
    , m_rowBytes(bytesOf(type, columns))
    , m_bytes(m_rowBytes * std::size_t(rows))
{
    std::mt19937 random(seed);
    for (std::byte &byte : m_bytes)
        byte = std::byte(random() & 255U);
    // Floats, and scales likewise, get an exponent between 2^-6 and 2^1, so that no sum is all in one value.
    const TensorTypeTraits &traits = traitsOf(type);
    const auto tame = [&](std::size_t at, int bytes, int bias, int fractionBits) {
        std::uint32_t bits = littleEndian(m_bytes.data() + at, bytes);
        const std::uint32_t fraction = bits & ((1U << fractionBits) - 1);
        const std::uint32_t sign = bits >> (8 * bytes - 1);
        bits =
            sign << (8 * bytes - 1) | std::uint32_t(bias - 6 + int(random() % 8)) << fractionBits | fraction;
        for (int i = 0; i < bytes; ++i)
            m_bytes[at + std::size_t(i)] = std::byte(bits >> (8 * i) & 255U);
    };
    for (std::size_t at = 0; at < m_bytes.size(); at += traits.blockBytes) {
        if (type == TensorType::F32)
            tame(at, 4, 127, 23);
        else if (type == TensorType::F16)
            tame(at, 2, 15, 10);
        else if (type == TensorType::BF16)
            tame(at, 2, 127, 7);
        else
            tameScales(type, m_bytes.data() + at, random);
    }
}

WeightMatrix RandomMatrix::matrix() const
{
    return {m_type, m_rows, m_columns, m_bytes.data()};
}

std::vector<double> RandomMatrix::referenceRow(std::int64_t row) const
{
    return referenceValues(m_type, m_bytes.data() + m_rowBytes * std::size_t(row), m_columns);
}

void fillRandom(FencedMemory<float> &values, float range, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-range, range);
    for (float &value : values)
        value = uniform(random);
}

} // namespace tokenloupe::test
