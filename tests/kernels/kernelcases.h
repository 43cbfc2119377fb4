// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/cpukernels.h"
#include "tests/kernels/fencedmemory.h"

#include <QTest>
#include <cstdint>
#include <random>
#include <vector>

namespace tokenloupe::test {

/// What the kernels multiply by.
inline constexpr TensorType computableTypes[] = {
    TensorType::F32,    TensorType::F16,     TensorType::BF16,  TensorType::Q4_0,    TensorType::Q4_1,
    TensorType::Q5_0,   TensorType::Q5_1,    TensorType::Q8_0,  TensorType::Q2_K,    TensorType::Q3_K,
    TensorType::Q4_K,   TensorType::Q5_K,    TensorType::Q6_K,  TensorType::Q8_K,    TensorType::IQ4_NL,
    TensorType::IQ4_XS, TensorType::MXFP4,   TensorType::NVFP4, TensorType::IQ2_XXS, TensorType::IQ2_XS,
    TensorType::IQ2_S,  TensorType::IQ3_XXS, TensorType::IQ3_S, TensorType::IQ1_S,   TensorType::IQ1_M,
    TensorType::TQ1_0,  TensorType::TQ2_0};
/// What quantizeRow() writes.
inline constexpr TensorType writableTypes[] = {TensorType::F32,  TensorType::F16,  TensorType::BF16,
                                               TensorType::Q4_0, TensorType::Q4_1, TensorType::Q5_0,
                                               TensorType::Q5_1, TensorType::Q8_0};
inline constexpr IsaLevel isaLevels[] = {IsaLevel::Portable, IsaLevel::Avx2, IsaLevel::Avx512};

const char *isaName(IsaLevel level);
/// One data row for each instruction set, in a column "isa".
void addIsaRows();

/// A matrix with random content: finite scales of both signs, else every bit pattern.
class RandomMatrix
{
public:
    RandomMatrix(TensorType type, std::int64_t rows, std::int64_t columns, unsigned seed);

    WeightMatrix matrix() const;
    /// What one row means, by plain loops over bytes and bits that share nothing with the kernels.
    std::vector<double> referenceRow(std::int64_t row) const;

private:
    TensorType m_type;
    std::int64_t m_rows;
    std::int64_t m_columns;
    std::size_t m_rowBytes;
    FencedMemory<std::byte> m_bytes;
};

/// The value of a binary16 pattern, from its definition.
double referenceHalf(std::uint16_t half);
/// `columns` stored values from `bytes` on.
std::vector<double> referenceValues(TensorType type, const std::byte *bytes, std::int64_t columns);

/// Fills with values between -range and range.
void fillRandom(FencedMemory<float> &values, float range, unsigned seed);

template <class T>
bool sameBits(const FencedMemory<T> &a, const FencedMemory<T> &b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

} // namespace tokenloupe::test

Q_DECLARE_METATYPE(tokenloupe::IsaLevel)
Q_DECLARE_METATYPE(tokenloupe::TensorType)

/// The kernels of the data row, or a skip on machines without that instruction set.
#define TOKENLOUPE_FETCH_KERNELS(variable)                                                                   \
    QFETCH(tokenloupe::IsaLevel, isa);                                                                       \
    const tokenloupe::CpuKernels *variable##Found = tokenloupe::cpuKernelsFor(isa);                          \
    if (!variable##Found)                                                                                    \
        QSKIP("this processor does not have the instruction set");                                           \
    const tokenloupe::CpuKernels &variable = *variable##Found

/// QCOMPARE without the tolerance that it has for floating point numbers.
#define TOKENLOUPE_COMPARE_EXACT(actual, wanted)                                                             \
    do {                                                                                                     \
        const double actualValue = double(actual);                                                           \
        const double wantedValue = double(wanted);                                                           \
        QVERIFY2(actualValue == wantedValue, qPrintable(QStringLiteral("%1 instead of %2")                   \
                                                            .arg(actualValue, 0, 'g', 17)                    \
                                                            .arg(wantedValue, 0, 'g', 17)));                 \
    } while (false)
