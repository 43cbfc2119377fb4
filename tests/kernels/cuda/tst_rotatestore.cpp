// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/attentioncases.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float largestFloat = std::numeric_limits<float>::max();

/// A cache whose blocks lie in falling order, and room for what is stored.
struct Cache
{
    static constexpr int blockTokens = 16;
    static constexpr int kvHeads = 2;

    Cache(KvElement type, int keyWidth, int valueWidth, int positions)
        : keySize(keyWidth)
        , valueSize(valueWidth)
        , blocks((positions + blockTokens - 1) / blockTokens)
        , keyBytes(storedBytes(type, keySize))
        , valueBytes(storedBytes(type, valueSize))
        , keys(std::vector<std::byte>(planeBytes(keyBytes), std::byte{0x5A}))
        , values(std::vector<std::byte>(planeBytes(valueBytes), std::byte{0x5A}))
        , table(numbers(blocks))
    {
        view.keys = keys.data();
        view.values = values.data();
        view.table = table.data();
        view.keyRowBytes = std::int32_t(keyBytes);
        view.valueRowBytes = std::int32_t(valueBytes);
        view.keyHeadStride = view.keyRowBytes * blockTokens;
        view.valueHeadStride = view.valueRowBytes * blockTokens;
        view.keyBlockStride = view.keyHeadStride * kvHeads;
        view.valueBlockStride = view.valueHeadStride * kvHeads;
        view.blockTokens = blockTokens;
        view.kvHeads = kvHeads;
        view.keySize = keySize;
        view.valueSize = valueSize;
        view.keyType = view.valueType = type;
    }

    std::size_t planeBytes(std::size_t rowBytes) const
    {
        return rowBytes * std::size_t(blocks) * blockTokens * kvHeads;
    }
    static std::vector<std::int32_t> numbers(int count)
    {
        std::vector<std::int32_t> falling(static_cast<std::size_t>(count));
        std::iota(falling.rbegin(), falling.rend(), 0);
        return falling;
    }
    /// What the CPU would have written: the whole plane.
    std::vector<std::byte> expected(const std::vector<float> &rows, int first, bool areKeys,
                                    IsaLevel level) const
    {
        const std::size_t rowBytes = areKeys ? keyBytes : valueBytes;
        const auto size = static_cast<std::size_t>(areKeys ? keySize : valueSize);
        std::vector<std::byte> plane(planeBytes(rowBytes), std::byte{0x5A});
        for (std::size_t i = 0; i < rows.size() / size; ++i) {
            const int position = first + int(i) / kvHeads;
            const std::size_t block = std::size_t(blocks - 1 - position / blockTokens);
            const std::size_t place =
                (block * kvHeads + i % kvHeads) * blockTokens + std::size_t(position % blockTokens);
            cpuKernelsFor(level)->quantizeRow(tensorTypeOf(view.keyType), rows.data() + i * size,
                                              std::int64_t(size), plane.data() + place * rowBytes);
        }
        return plane;
    }

    int keySize;
    int valueSize;
    int blocks;
    std::size_t keyBytes;
    std::size_t valueBytes;
    DeviceValues<std::byte> keys;
    DeviceValues<std::byte> values;
    DeviceValues<std::int32_t> table;
    KvLayerView view;
};

DeviceValues<StepState> stateAt(int position)
{
    return DeviceValues<StepState>(std::vector{StepState{position, 0}});
}

/// Nothing special, and everything that is: a head of 32 each.
std::vector<float> specialHeads()
{
    std::vector<float> all;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (const float range : {1.0F, 1e-4F, 300.0F, 1e-7F, 1e6F, 1e-40F}) {
        for (int i = 0; i < 320; ++i)
            all.push_back(normal(random) * range);
    }
    for (const float value : {0.0F, -0.0F, 3.0F, -3.0F, 1e-30F, largestFloat, -largestFloat, 1e-42F, 65504.0F,
                              65520.0F, infinity, -infinity, notANumber, -notANumber})
        all.insert(all.end(), 32, value);
    const auto addMixed = [&all](std::initializer_list<std::pair<int, float>> values, float rest) {
        std::vector<float> head(32, rest);
        for (const auto &[place, value] : values)
            head[std::size_t(place)] = value;
        all.insert(all.end(), head.begin(), head.end());
    };
    addMixed({{7, 1.5F}}, 1.0F);
    addMixed({{3, -2.0F}, {20, 2.0F}}, 0.0F);
    addMixed({{3, 2.0F}, {20, -2.0F}}, -0.0F);
    addMixed({{0, -largestFloat}, {31, largestFloat}}, 0.0F);
    addMixed({{5, notANumber}, {9, 4.0F}}, 1.0F);
    addMixed({{5, infinity}, {9, -4.0F}}, 1.0F);
    addMixed({{5, -infinity}, {9, infinity}}, 1.0F);
    addMixed({{5, -infinity}, {9, notANumber}}, -1.0F);
    addMixed({{0, -1e-44F}}, 0.0F);
    for (int i = 0; i < 2048; ++i) { // ties and numbers that no half is near
        const auto bits = std::uint32_t(random());
        float value = 0;
        std::memcpy(&value, &bits, sizeof value);
        all.push_back(value);
    }
    return all;
}

} // namespace

class TestRotateStore : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { QVERIFY(cudahost::takeFaults().empty()); }

    void storesWhatTheCpuStores_data();
    void storesWhatTheCpuStores();
    void rotates_data();
    void rotates();
    void storesWhatItRotates_data();
    void storesWhatItRotates();
    void refusesWrongShapes();
};

void TestRotateStore::storesWhatTheCpuStores_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("keySize");
    QTest::addColumn<int>("valueSize");
    const char *names[] = {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
    for (int type = 0; type < 8; ++type) {
        QTest::addRow("%s", names[type]) << type << 32 << 32;
        QTest::addRow("%s, 128 and 96", names[type]) << type << 128 << 96;
        if (type < 3) {
            QTest::addRow("%s, 8 and 80", names[type]) << type << 8 << 80;
            QTest::addRow("%s, 40 and 512", names[type]) << type << 40 << 512;
        }
    }
}

void TestRotateStore::storesWhatTheCpuStores()
{
    QFETCH(const int, type);
    QFETCH(const int, keySize);
    QFETCH(const int, valueSize);
    const std::vector<float> numbers = specialHeads();
    const auto rowsOf = [&numbers](int size) { return int(numbers.size()) / size / Cache::kvHeads; };
    const int rows = std::min(rowsOf(keySize), rowsOf(valueSize));
    const int first = 21;
    const auto headsOf = [&](int size) {
        return std::vector<float>(numbers.begin(),
                                  numbers.begin() + std::ptrdiff_t(rows) * size * Cache::kvHeads);
    };
    const std::vector<float> keyRows = headsOf(keySize);
    const std::vector<float> valueRows = headsOf(valueSize);
    const PaddedRows keys(keyRows, keySize * Cache::kvHeads, 3);
    const PaddedRows values(valueRows, valueSize * Cache::kvHeads, 5);
    const DeviceValues<StepState> state = stateAt(first);
    Cache cache(KvElement(type), keySize, valueSize, first + rows);
    QCOMPARE(storeRows(keys.view(), values.view(), cache.view, state.data(), nullptr), cudaSuccess);
    cudahost::checkMemory();
    for (const IsaLevel level : {IsaLevel::Portable, IsaLevel::Avx2, IsaLevel::Avx512}) {
        if (!cpuKernelsFor(level))
            continue;
        QVERIFY(cache.keys.read() == cache.expected(keyRows, first, true, level));
        QVERIFY(cache.values.read() == cache.expected(valueRows, first, false, level));
    }
}

void TestRotateStore::rotates_data()
{
    QTest::addColumn<int>("headSize");
    QTest::addColumn<int>("rotated");
    QTest::addColumn<int>("pairs");
    QTest::addColumn<int>("position");
    for (const int pairs : {int(RotaryPairs::Neighbours), int(RotaryPairs::Halves)}) {
        for (const int position : {0, 1, 1000, 131068, 1048570}) {
            for (const auto &[headSize, rotated] : {std::pair{8, 8}, std::pair{80, 32}, std::pair{128, 128}})
                QTest::addRow("%d of %d %s at %d", rotated, headSize, pairs == 0 ? "neighbours" : "halves",
                              position)
                    << headSize << rotated << pairs << position;
        }
    }
}

void TestRotateStore::rotates()
{
    QFETCH(const int, headSize);
    QFETCH(const int, rotated);
    QFETCH(const int, pairs);
    QFETCH(const int, position);
    const int rows = 3;
    const int queryHeads = 5;
    const int keyHeads = 2;
    const float magnitude = 1.25F;
    std::vector<float> frequencies;
    for (int i = 0; i < rotated / 2; ++i)
        frequencies.push_back(std::pow(10000.0F, -2.0F * float(i) / float(rotated)));
    const DeviceValues<float> deviceFrequencies(frequencies);
    const DeviceValues<StepState> state = stateAt(position);
    const RotaryParams rotary{RotaryPairs(pairs), rotated, deviceFrequencies.data(), magnitude};
    const auto check = [&](const std::vector<float> &before, const PaddedRows &after) {
        const std::vector<float> actual = after.read();
        const std::size_t columns = before.size() / rows;
        for (std::size_t i = 0; i < before.size(); ++i) {
            const auto inHead = int(i % columns) % headSize;
            double wanted = double(before[i]);
            double size = std::abs(wanted);
            if (inHead < rotated) {
                const bool areNeighbours = pairs == 0;
                const int half = rotated / 2;
                const int pair = areNeighbours ? inHead / 2 : inHead % half;
                const bool isSecond = areNeighbours ? inHead % 2 == 1 : inHead >= half;
                const std::ptrdiff_t step = areNeighbours ? 1 : half;
                const double other =
                    double(before[std::size_t(std::ptrdiff_t(i) + (isSecond ? -step : step))]);
                const double angle =
                    (position + double(i / columns)) * double(frequencies[std::size_t(pair)]);
                wanted = double(magnitude) * (isSecond ? other * std::sin(angle) + wanted * std::cos(angle)
                                                       : wanted * std::cos(angle) - other * std::sin(angle));
                size = std::hypot(size, other);
            }
            QVERIFY(std::abs(double(actual[i]) - wanted) <= (inHead < rotated ? 6e-7 * size : 0.0));
        }
        QVERIFY(after.isPaddingIntact());
    };
    const std::vector<float> queryRows = randomFloats(std::size_t(rows * queryHeads * headSize), 2.0F, 1);
    const std::vector<float> keyRows = randomFloats(std::size_t(rows * keyHeads * headSize), 2.0F, 2);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        cudahost::setSeed(seed);
        const PaddedRows queries(queryRows, queryHeads * headSize, 7);
        const PaddedRows keys(keyRows, keyHeads * headSize, 1);
        QCOMPARE(rotateRows(queries.view(), headSize, keys.view(), rotary, state.data(), nullptr),
                 cudaSuccess);
        check(queryRows, queries);
        check(keyRows, keys);
    }
    const PaddedRows keys(keyRows, keyHeads * headSize);
    QCOMPARE(rotateRows({}, headSize, keys.view(), rotary, state.data(), nullptr), cudaSuccess);
    check(keyRows, keys);
}

void TestRotateStore::storesWhatItRotates_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("rotated");
    for (const KvElement type : {KvElement::F32, KvElement::F16, KvElement::Q8_0, KvElement::Q5_1}) {
        for (const int rotated : {0, 32, 96})
            QTest::addRow("type %d, %d turn", int(type), rotated) << int(type) << rotated;
    }
}

/// The fused launch gives the bits of the two.
void TestRotateStore::storesWhatItRotates()
{
    QFETCH(const int, type);
    QFETCH(const int, rotated);
    const int size = 96;
    const int valueSize = 64;
    const int rows = 5;
    const int first = 40;
    const DeviceValues<float> frequencies(randomFloats(std::size_t(rotated / 2 + 1), 0.5F, 9));
    const RotaryParams rotary{RotaryPairs::Halves, rotated, frequencies.data(), 1.0F};
    const std::vector<float> queryRows = randomFloats(std::size_t(rows * 6 * size), 2.0F, 1);
    const std::vector<float> keyRows = randomFloats(std::size_t(rows * 2 * size), 2.0F, 2);
    const std::vector<float> valueRows = randomFloats(std::size_t(rows * 2 * valueSize), 2.0F, 3);
    const DeviceValues<StepState> state = stateAt(first);

    const PaddedRows queries(queryRows, 6 * size);
    const PaddedRows keys(keyRows, 2 * size);
    const PaddedRows values(valueRows, 2 * valueSize);
    Cache apart(KvElement(type), size, valueSize, first + rows);
    QCOMPARE(rotateRows(queries.view(), size, keys.view(), rotary, state.data(), nullptr), cudaSuccess);
    QCOMPARE(storeRows(keys.view(), values.view(), apart.view, state.data(), nullptr), cudaSuccess);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        cudahost::setSeed(seed);
        const PaddedRows fusedQueries(queryRows, 6 * size);
        const PaddedRows fusedKeys(keyRows, 2 * size);
        Cache fused(KvElement(type), size, valueSize, first + rows);
        QCOMPARE(rotateAndStore(fusedQueries.view(), size, fusedKeys.view(), values.view(), rotary,
                                fused.view, state.data(), nullptr),
                 cudaSuccess);
        QVERIFY(fusedQueries.read() == queries.read());
        QVERIFY(fusedKeys.read() == keys.read());
        QVERIFY(fused.keys.read() == apart.keys.read());
        QVERIFY(fused.values.read() == apart.values.read());
        QVERIFY(rotated == 0 || fusedKeys.read() != keyRows);
    }
}

void TestRotateStore::refusesWrongShapes()
{
    const PaddedRows keys(3, 64);
    const PaddedRows values(3, 64);
    const DeviceValues<StepState> state = stateAt(0);
    const Cache cache(KvElement::Q8_0, 32, 32, 3);
    QCOMPARE(storeRows(keys.view(), values.view(), cache.view, state.data(), nullptr), cudaSuccess);
    QCOMPARE(storeRows(keys.view(), values.view(), cache.view, nullptr, nullptr), cudaErrorInvalidValue);
    DeviceRows fewer = values.view();
    fewer.rows = 2;
    QCOMPARE(storeRows(keys.view(), fewer, cache.view, state.data(), nullptr), cudaErrorInvalidValue);
    KvLayerView wrong = cache.view;
    wrong.keySize = 48; // not whole blocks
    QCOMPARE(storeRows(keys.view(), values.view(), wrong, state.data(), nullptr), cudaErrorInvalidValue);
    const RotaryParams none{RotaryPairs::Halves, 32, nullptr, 1.0F};
    QCOMPARE(rotateRows(keys.view(), 32, {}, none, state.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(rotateRows(keys.view(), 24, {}, {}, state.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(rotateRows(keys.view(), 1024, {}, {}, state.data(), nullptr), cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TestRotateStore)
#include "tst_rotatestore.moc"
