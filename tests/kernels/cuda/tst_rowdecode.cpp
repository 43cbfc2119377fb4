// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"

#include "kernels/cuda/weightlayout.h"
#include "kernels/formats/blocks.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/productcases.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QByteArray>
#include <algorithm>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

void addTypeRows()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type : computableTypes)
        QTest::newRow(traitsOf(type).name) << type;
}

/// Columns that are and that are no multiple of what a warp decodes at once.
std::vector<std::int32_t> widthsOf(TensorType type)
{
    const auto block = std::int32_t(traitsOf(type).blockValues);
    if (block == 1)
        return {1, 33, 172, 1024, 1027};
    return block == 256 ? std::vector<std::int32_t>{256, 1024, 1280}
                        : std::vector<std::int32_t>{block, 576, 1088};
}

double number(const nlohmann::json &value)
{
    return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

} // namespace

class TestRowDecode : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void expandsToFloats_data() { addTypeRows(); }
    void expandsToFloats();
    void expandsToHalves_data() { addTypeRows(); }
    void expandsToHalves();
    void gathersRows_data() { addTypeRows(); }
    void gathersRows();
    void addsPositions_data() { addTypeRows(); }
    void addsPositions();
    void referenceBlocks();
    void wrongCalls();
};

void TestRowDecode::expandsToFloats()
{
    QFETCH(TensorType, type);
    for (const std::int32_t columns : widthsOf(type)) {
        const PackedMatrix matrix(type, 7, columns, 121U);
        for (const auto &[first, count] : {std::pair{0, 7}, {6, 1}, {2, 3}}) {
            const DeviceValues<float> output(std::size_t(count * columns));
            QCOMPARE(expandFloat(matrix.weight(), first, count, output.data(), nullptr), cudaSuccess);
            std::vector<float> wanted;
            for (int row = first; row < first + count; ++row)
                wanted.insert(wanted.end(), matrix.row(row).begin(), matrix.row(row).end());
            QCOMPARE(firstDifference(output.read(), wanted), QString());
        }
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

void TestRowDecode::expandsToHalves()
{
    QFETCH(TensorType, type);
    for (const std::int32_t columns : widthsOf(type)) {
        const PackedMatrix matrix(type, 5, columns, 122U);
        const DeviceValues<std::uint16_t> output(std::size_t(4 * columns));
        QCOMPARE(expandHalf(matrix.weight(), 1, 4, output.data(), nullptr), cudaSuccess);
        std::vector<float> got;
        for (const std::uint16_t half : output.read())
            got.push_back(halfToFloat(half));
        std::vector<float> wanted;
        for (int row = 1; row < 5; ++row) {
            for (const double value : matrix.row(row))
                wanted.push_back(halfToFloat(floatToHalf(float(value))));
        }
        QCOMPARE(firstDifference(got, wanted), QString());
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

void TestRowDecode::gathersRows()
{
    QFETCH(TensorType, type);
    const std::vector<std::int32_t> ids = {5, 0, 5, 8, 1};
    for (const std::int32_t columns : widthsOf(type)) {
        const PackedMatrix table(type, 9, columns, 123U);
        const DeviceValues<std::int32_t> deviceIds(ids);
        const std::int32_t stride = columns + 5;
        std::vector<float> values(ids.size() * std::size_t(stride), 7.5F);
        const DeviceValues<float> output(values);
        QCOMPARE(gatherRows(table.weight(), deviceIds.data(),
                            deviceRows(output, std::int32_t(ids.size()), columns, stride), nullptr),
                 cudaSuccess);
        for (std::size_t token = 0; token < ids.size(); ++token)
            std::copy_n(table.row(ids[token]).begin(), columns,
                        values.begin() + std::ptrdiff_t(token) * stride);
        QCOMPARE(firstDifference(output.read(), values), QString());
    }
}

void TestRowDecode::addsPositions()
{
    QFETCH(TensorType, type);
    for (const std::int32_t columns : widthsOf(type)) {
        const PackedMatrix table(type, 9, columns, 124U);
        const DeviceValues<StepState> state(std::vector<StepState>{{4, 3}});
        std::vector<float> values = randomFloats(std::size_t(3 * columns), 1.0F, 125U);
        const DeviceValues<float> target(values);
        QCOMPARE(addPositionRows(table.weight(), state.data(), deviceRows(target, 3, columns), nullptr),
                 cudaSuccess);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t row = i / std::size_t(columns);
            values[i] += float(table.row(4 + std::int64_t(row))[i % std::size_t(columns)]);
        }
        QCOMPARE(firstDifference(target.read(), values), QString());
    }
}

/// Values of another implementation.
void TestRowDecode::referenceBlocks()
{
    TOKENLOUPE_NEED_SHARED(path, "quants/dequant_cases.json");
    const nlohmann::json cases = readJson(path);
    int compared = 0;
    for (const auto &entry : cases.at("cases")) {
        const auto type = TensorType(entry.at("ggml_type_id").get<std::uint32_t>());
        const TensorTypeTraits &traits = traitsOf(type);
        for (const char *part : {"random_blocks", "quantised_vector"}) {
            if (!entry.contains(part))
                continue;
            const auto hex = QByteArray::fromStdString(entry.at(part).at("bytes_hex").get<std::string>());
            const QByteArray bytes = QByteArray::fromHex(hex);
            const std::int64_t columns = std::int64_t(bytes.size()) / traits.blockBytes * traits.blockValues;
            std::vector<std::byte> image(std::size_t(deviceWeightBytes(type, 1, columns)));
            packDeviceRows(type, 1, columns, 0, 1, reinterpret_cast<const std::byte *>(bytes.constData()),
                           image.data());
            const DeviceValues<std::byte> data(image);
            const DeviceValues<float> output{std::size_t(columns)};
            QCOMPARE(expandFloat({data.data(), type, 1, columns}, 0, 1, output.data(), nullptr), cudaSuccess);
            const std::vector<float> got = output.read();
            const auto &wanted = entry.at(part).at("expected");
            QCOMPARE(got.size(), wanted.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                const double value = number(wanted.at(i));
                const bool isSame = std::isnan(value)
                                        ? std::isnan(got[i])
                                        : double(got[i]) == value ||
                                              std::abs(double(got[i]) - value) <= 1e-6 * std::abs(value);
                if (!isSame)
                    QFAIL(qPrintable(QStringLiteral("%1, value %2: %3 instead of %4")
                                         .arg(QString::fromLatin1(traits.name))
                                         .arg(i)
                                         .arg(double(got[i]))
                                         .arg(value)));
            }
            ++compared;
        }
    }
    QCOMPARE(compared, 23 + 8); // every block type, and those with a quantiser once more
}

void TestRowDecode::wrongCalls()
{
    const PackedMatrix matrix(TensorType::Q4_0, 4, 64, 126U);
    const DeviceWeight weight = matrix.weight();
    const DeviceValues<float> output(256);
    const DeviceValues<std::int32_t> ids(std::vector<std::int32_t>{0, 1});
    const DeviceValues<StepState> state(std::vector<StepState>{{0, 2}});
    const DeviceRows rows = deviceRows(output, 2, 64);
    DeviceRows narrow = deviceRows(output, 2, 32);
    DeviceRows overlapping = deviceRows(output, 2, 64, 63);
    DeviceWeight nothing = weight;
    nothing.data = nullptr;
    DeviceWeight odd = weight;
    odd.columns = 60;
    QCOMPARE(expandFloat(weight, 0, 4, output.data(), nullptr), cudaSuccess);
    QCOMPARE(expandFloat(weight, 1, 4, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandFloat(weight, -1, 1, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandFloat(weight, 0, 0, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandFloat(weight, 0, 1, nullptr, nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandFloat(nothing, 0, 1, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandFloat(odd, 0, 1, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandHalf(weight, 0, 4, output.data(), nullptr), cudaSuccess);
    QCOMPARE(expandHalf(weight, 4, 1, output.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(expandHalf(weight, 0, 1, reinterpret_cast<std::byte *>(output.data()) + 2, nullptr),
             cudaErrorInvalidValue);
    QCOMPARE(gatherRows(weight, ids.data(), rows, nullptr), cudaSuccess);
    QCOMPARE(gatherRows(weight, nullptr, rows, nullptr), cudaErrorInvalidValue);
    QCOMPARE(gatherRows(weight, ids.data(), narrow, nullptr), cudaErrorInvalidValue);
    QCOMPARE(gatherRows(weight, ids.data(), overlapping, nullptr), cudaErrorInvalidValue);
    QCOMPARE(gatherRows(nothing, ids.data(), rows, nullptr), cudaErrorInvalidValue);
    QCOMPARE(addPositionRows(weight, state.data(), rows, nullptr), cudaSuccess);
    QCOMPARE(addPositionRows(weight, nullptr, rows, nullptr), cudaErrorInvalidValue);
    QCOMPARE(addPositionRows(weight, state.data(), narrow, nullptr), cudaErrorInvalidValue);
    QCOMPARE(addPositionRows(weight, state.data(), deviceRows(output, 5, 64), nullptr),
             cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TestRowDecode)
#include "tst_rowdecode.moc"
