// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <climits>
#include <cmath>
#include <random>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;

namespace {

__global__ void changeAtomically(int *integers, unsigned int *naturals, float *numbers,
                                 unsigned long long *wide)
{
    followPrevious();
    const auto thread = static_cast<int>(threadIdx.x);
    atomicAdd(integers, thread);
    atomicMax(integers + 1, (thread * 7) % 100);
    atomicMin(integers + 2, -((thread * 7) % 100));
    atomicOr(naturals, 1U << thread % 32);
    atomicInc(naturals + 1, 9);
    atomicCAS(naturals + 2, 0U, threadIdx.x + 1); // the first one wins
    atomicXor(naturals + 3, 1U << thread % 32);
    atomicAdd(numbers, 0.5F);
    if (atomicExch(numbers + 1, 1.0F) == 0.0F)
        atomicAdd(numbers + 2, 1.0F);
    atomicAdd(wide, 1ULL << 32);
    atomicMax(wide + 1, 1ULL << thread);
}

} // namespace

/// Functions of the device that C++ has not.
class TstIntrinsics : public QObject
{
    Q_OBJECT

private slots:
    void multipliesBytes();
    void movesBytes();
    void countsBits();
    void calculatesByBytes();
    void multipliesWide();
    void convertsWithLimits();
    void calculates();
    void choosesNumbers();
    void changesAtomically();
    void alignsVectors();
};

void TstIntrinsics::multipliesBytes()
{
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
        const auto x = static_cast<unsigned int>(random());
        const auto y = static_cast<unsigned int>(random());
        long long sum = 0;
        long long unsignedSum = 0;
        for (unsigned int byte = 0; byte < 4; ++byte) {
            const int a = static_cast<int>(x >> 8 * byte & 255);
            const int b = static_cast<int>(y >> 8 * byte & 255);
            sum += (a < 128 ? a : a - 256) * (b < 128 ? b : b - 256);
            unsignedSum += a * b;
        }
        QCOMPARE(__dp4a(static_cast<int>(x), static_cast<int>(y), 1000), static_cast<int>(sum + 1000));
        QCOMPARE(__dp4a(x, y, 7U), static_cast<unsigned int>(unsignedSum + 7));
    }
    QCOMPARE(__dp4a(0x01010101, 0x01010101, INT_MAX), INT_MIN + 3);
}

void TstIntrinsics::movesBytes()
{
    QCOMPARE(__byte_perm(0x33221100, 0x77665544, 0x0123), 0x00112233U);
    QCOMPARE(__byte_perm(0x33221100, 0x77665544, 0x7531), 0x77553311U);
    QCOMPARE(__byte_perm(0x332211F0, 0x77665544, 0x8888), 0xFFFFFFFFU); // spread signs
    QCOMPARE(__byte_perm(0x332211F0, 0x77665544, 0x999B), 0x00000000U);
    QCOMPARE(__funnelshift_l(0x80000001U, 0x00000002U, 4), 0x00000028U);
    QCOMPARE(__funnelshift_r(0x80000001U, 0x00000002U, 4), 0x28000000U);
    QCOMPARE(__brev(0x00000003U), 0xC0000000U);
}

void TstIntrinsics::countsBits()
{
    QCOMPARE(__popc(0xF00FU), 8);
    QCOMPARE(__popcll(0xF00F00000000ULL), 8);
    QCOMPARE(__clz(0), 32);
    QCOMPARE(__clz(1), 31);
    QCOMPARE(__clz(-1), 0);
    QCOMPARE(__clzll(1), 63);
    QCOMPARE(__ffs(0), 0);
    QCOMPARE(__ffs(8), 4);
}

void TstIntrinsics::calculatesByBytes()
{
    QCOMPARE(__vadd4(0x01FF7F80U, 0x01010180U), 0x02008000U);
    QCOMPARE(__vsub4(0x01007F80U, 0x02010180U), 0xFFFF7E00U);
    QCOMPARE(__vaddss4(0x017F8005U, 0x01018005U), 0x027F800AU);
    QCOMPARE(__vsubss4(0x01807F05U, 0x0201FF06U), 0xFF807FFFU);
    QCOMPARE(__vcmpeq4(0x01020304U, 0x01FF03FFU), 0xFF00FF00U);
    QCOMPARE(__vcmpne4(0x01020304U, 0x01FF03FFU), 0x00FF00FFU);
}

void TstIntrinsics::multipliesWide()
{
    QCOMPARE(__mulhi(-1, 1), -1);
    QCOMPARE(__mulhi(1 << 30, 8), 2);
    QCOMPARE(__umulhi(0xFFFFFFFFU, 0xFFFFFFFFU), 0xFFFFFFFEU);
    QCOMPARE(__umul64hi(~0ULL, ~0ULL), ~1ULL);
}

void TstIntrinsics::convertsWithLimits()
{
    QCOMPARE(__float2int_rn(2.5F), 2);
    QCOMPARE(__float2int_rn(3.5F), 4);
    QCOMPARE(__float2int_rn(-2.5F), -2);
    QCOMPARE(__float2int_rz(-2.9F), -2);
    QCOMPARE(__float2int_rd(-2.1F), -3);
    QCOMPARE(__float2int_ru(2.1F), 3);
    QCOMPARE(__float2int_rn(1e20F), INT_MAX);
    QCOMPARE(__float2int_rn(-1e20F), INT_MIN);
    QCOMPARE(__float2int_rn(NAN), 0);
    QCOMPARE(__float2uint_rn(-1.0F), 0U);
    QCOMPARE(__float2uint_rz(4294967296.0F), UINT_MAX);
    QCOMPARE(__float2ll_rn(1e30F), LLONG_MAX);
    QCOMPARE(__float2ll_rn(-1e30F), LLONG_MIN);
    QCOMPARE(__float_as_uint(1.0F), 0x3F800000U);
    QCOMPARE(__int_as_float(0x40000000), 2.0F);
}

void TstIntrinsics::calculates()
{
    QCOMPARE(rsqrtf(4.0F), 0.5F);
    QCOMPARE(__expf(1.0F), std::exp(1.0F));
    QCOMPARE(__fdividef(1.0F, 4.0F), 0.25F);
    QCOMPARE(__saturatef(1.5F), 1.0F);
    QCOMPARE(__saturatef(NAN), 0.0F);
    QCOMPARE(__frcp_rn(8.0F), 0.125F);
    QCOMPARE(__fmaf_rn(1.0F + 0x1p-12F, 1.0F + 0x1p-12F, -(1.0F + 0x1p-11F)), 0x1p-24F);
    float sine = 0.0F;
    float cosine = 0.0F;
    sincosf(0.5F, &sine, &cosine);
    QCOMPARE(sine, std::sin(0.5F));
    __sincosf(0.5F, &sine, &cosine);
    QCOMPARE(cosine, std::cos(0.5F));
    sincospif(100000.5F, &sine, &cosine);
    QCOMPARE(sine, 1.0F);
    QVERIFY(std::fabs(cosine) < 1e-6F);
    QVERIFY(std::fabs(normcdff(0.0F) - 0.5F) < 1e-6F);
}

void TstIntrinsics::choosesNumbers()
{
    QCOMPARE(min(3, 4), 3);
    QCOMPARE(max(3U, 4U), 4U);
    QCOMPARE(max(1.0F, NAN), 1.0F);
    QCOMPARE(min(2.0F, 1.0), 1.0);
    QCOMPARE(max(std::int64_t{1} << 40, std::int64_t{2}), std::int64_t{1} << 40);
}

void TstIntrinsics::changesAtomically()
{
    cudahost::reset();
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        cudahost::setSeed(seed);
        const DeviceValues<int> integers(std::vector<int>(3, 0));
        const DeviceValues<unsigned int> naturals(std::vector<unsigned int>(4, 0));
        const DeviceValues<float> numbers(std::vector<float>(3, 0.0F));
        const DeviceValues<unsigned long long> wide(std::vector<unsigned long long>(2, 0));
        QCOMPARE(launch(changeAtomically, {dim3(1), dim3(60), 0}, nullptr, integers.data(), naturals.data(),
                        numbers.data(), wide.data()),
                 cudaSuccess);
        QCOMPARE(integers.read(), (std::vector<int>{59 * 30, 99, -99}));
        std::vector<unsigned int> bits = naturals.read();
        QVERIFY(bits[2] >= 1 && bits[2] <= 60);
        bits[2] = 0;
        QCOMPARE(bits, (std::vector<unsigned int>{0xFFFFFFFF, 0, 0, 0xF0000000}));
        QCOMPARE(numbers.read(), (std::vector<float>{30.0F, 1.0F, 1.0F}));
        QCOMPARE(wide.read(), (std::vector<unsigned long long>{60ULL << 32, 1ULL << 59}));
    }
}

void TstIntrinsics::alignsVectors()
{
    QCOMPARE(alignof(float2), std::size_t{8});
    QCOMPARE(alignof(float4), std::size_t{16});
    QCOMPARE(sizeof(float3), std::size_t{12});
    QCOMPARE(alignof(uchar4), std::size_t{4});
    QCOMPARE(alignof(short4), std::size_t{8});
    QCOMPARE(alignof(longlong2), std::size_t{16});
    QCOMPARE(make_int4(1, 2, 3, 4).z, 3);
    QCOMPARE(make_float2(1.0F, 2.0F).y, 2.0F);
    const dim3 shape(5);
    QCOMPARE(shape.x * 100 + shape.y * 10 + shape.z, 511U);
}

TOKENLOUPE_TEST_MAIN(TstIntrinsics)
#include "tst_intrinsics.moc"
