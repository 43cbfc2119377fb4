// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>

// Loads, bits and packed bytes.

template <class T>
T __ldg(const T *place)
{
    return *place;
}
template <class T>
T __ldcs(const T *place)
{
    return *place;
}
template <class T>
T __ldcg(const T *place)
{
    return *place;
}
template <class T>
T __ldca(const T *place)
{
    return *place;
}
template <class T>
void __stcs(T *place, T value)
{
    *place = value;
}
template <class T>
void __stcg(T *place, T value)
{
    *place = value;
}

inline int __popc(unsigned int bits)
{
    return __builtin_popcount(bits);
}
inline int __popcll(unsigned long long bits)
{
    return __builtin_popcountll(bits);
}
inline int __clz(int bits)
{
    return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(bits));
}
inline int __clzll(long long bits)
{
    return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits));
}
inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}
inline int __ffsll(long long bits)
{
    return __builtin_ffsll(bits);
}

inline unsigned int __brev(unsigned int bits)
{
    unsigned int result = 0;
    for (int i = 0; i < 32; ++i)
        result |= (bits >> i & 1) << (31 - i);
    return result;
}

/// Byte i of the result is byte (selector nibble i & 7) of the eight of y:x; nibble bit 3 spreads its sign
/// instead.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
    const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
    unsigned int result = 0;
    for (unsigned int i = 0; i < 4; ++i) {
        const unsigned int choice = selector >> (4 * i);
        auto byte = static_cast<unsigned int>(bytes >> (8 * (choice & 7)) & 0xFF);
        if ((choice & 8) != 0)
            byte = (byte & 0x80) != 0 ? 0xFF : 0;
        result |= byte << (8 * i);
    }
    return result;
}

inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift)
{
    return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
    return static_cast<unsigned int>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}

inline int __mulhi(int x, int y)
{
    return static_cast<int>((std::int64_t{x} * y) >> 32);
}
inline unsigned int __umulhi(unsigned int x, unsigned int y)
{
    return static_cast<unsigned int>((std::uint64_t{x} * y) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    __extension__ using Wide = unsigned __int128;
    return static_cast<unsigned long long>((static_cast<Wide>(x) * y) >> 64);
}

namespace cudahost {

template <class Byte>
int byteOf(std::uint32_t word, unsigned int index)
{
    return static_cast<Byte>(word >> (8 * index) & 0xFF);
}

/// Four products of bytes and a sum, which wraps as the device's does.
template <class ByteX, class ByteY>
std::uint32_t dotOfBytes(std::uint32_t x, std::uint32_t y, std::uint32_t sum)
{
    for (unsigned int i = 0; i < 4; ++i)
        sum += static_cast<std::uint32_t>(byteOf<ByteX>(x, i) * byteOf<ByteY>(y, i));
    return sum;
}

template <class Combine>
std::uint32_t eachByte(std::uint32_t x, std::uint32_t y, Combine combine)
{
    std::uint32_t result = 0;
    for (unsigned int i = 0; i < 4; ++i)
        result |= (static_cast<std::uint32_t>(combine(x >> (8 * i) & 0xFF, y >> (8 * i) & 0xFF)) & 0xFF)
                  << (8 * i);
    return result;
}

inline int saturatedByte(int value)
{
    return std::clamp(value, -128, 127);
}

} // namespace cudahost

inline int __dp4a(int x, int y, int sum)
{
    return static_cast<int>(cudahost::dotOfBytes<std::int8_t, std::int8_t>(
        static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(sum)));
}
inline unsigned int __dp4a(unsigned int x, unsigned int y, unsigned int sum)
{
    return cudahost::dotOfBytes<std::uint8_t, std::uint8_t>(x, y, sum);
}

inline unsigned int __vadd4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) { return a + b; });
}
inline unsigned int __vsub4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) { return a - b; });
}
inline unsigned int __vaddss4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) {
        return cudahost::saturatedByte(static_cast<std::int8_t>(a) + static_cast<std::int8_t>(b));
    });
}
inline unsigned int __vsubss4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) {
        return cudahost::saturatedByte(static_cast<std::int8_t>(a) - static_cast<std::int8_t>(b));
    });
}
inline unsigned int __vcmpeq4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) { return a == b ? 0xFF : 0; });
}
inline unsigned int __vcmpne4(unsigned int x, unsigned int y)
{
    return cudahost::eachByte(x, y, [](auto a, auto b) { return a != b ? 0xFF : 0; });
}
