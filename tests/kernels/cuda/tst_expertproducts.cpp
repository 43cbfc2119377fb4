// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/weightlayout.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/productcases.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

struct Routes
{
    std::vector<int> chosen;
    std::vector<double> weights;
    std::vector<double> probabilities;
};

Routes wantedRoutes(const std::vector<float> &logits, int tokens, int used, RouteWeighting weighting)
{
    const std::size_t experts = logits.size() / std::size_t(tokens);
    Routes routes;
    for (int token = 0; token < tokens; ++token) {
        const float *mine = logits.data() + std::size_t(token) * experts;
        const double largest = double(*std::max_element(mine, mine + experts));
        std::vector<double> shares;
        for (std::size_t expert = 0; expert < experts; ++expert)
            shares.push_back(std::exp(double(mine[expert]) - largest));
        const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
        std::vector<int> order(experts);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return mine[a] > mine[b]; });
        std::sort(order.begin(), order.begin() + used);
        double chosenSum = 0;
        for (int i = 0; i < used; ++i)
            chosenSum += shares[std::size_t(order[std::size_t(i)])];
        for (int i = 0; i < used; ++i) {
            routes.chosen.push_back(order[std::size_t(i)]);
            routes.weights.push_back(shares[std::size_t(order[std::size_t(i)])] /
                                     (weighting == RouteWeighting::OfAll ? sum : chosenSum));
        }
        for (const double share : shares)
            routes.probabilities.push_back(share / sum);
    }
    return routes;
}

} // namespace

class TestExpertProducts : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void routes_data();
    void routes();
    void routesOfNoNumbers();
    void multiplies_data();
    void multiplies();
    void groups_data();
    void groups();
    void manyPairs();
    void combines();
    void wrongCalls();
};

void TestExpertProducts::routes_data()
{
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("experts");
    QTest::addColumn<int>("used");
    QTest::addColumn<bool>("hasTies");
    for (const auto &[tokens, experts, used] :
         {std::tuple{1, 1, 1}, {1, 8, 2}, {3, 8, 8}, {5, 33, 4}, {6, 64, 6}, {9, 128, 8}, {2, 257, 40}}) {
        for (const bool hasTies : {false, true})
            QTest::addRow("%d tokens, %d of %d%s", tokens, used, experts, hasTies ? ", ties" : "")
                << tokens << experts << used << hasTies;
    }
}

void TestExpertProducts::routes()
{
    QFETCH(int, tokens);
    QFETCH(int, experts);
    QFETCH(int, used);
    QFETCH(bool, hasTies);
    std::vector<float> logits = randomFloats(std::size_t(tokens * experts), 4.0F, 131U);
    if (hasTies)
        std::for_each(logits.begin(), logits.end(), [](float &logit) { logit = std::round(logit); });
    for (const RouteWeighting weighting : {RouteWeighting::OfAll, RouteWeighting::OfChosen}) {
        cudahost::setSeed(std::uint64_t(used));
        const int stride = experts + 2;
        std::vector<float> placed(std::size_t(tokens * stride), 99.0F);
        for (int token = 0; token < tokens; ++token)
            std::copy_n(logits.begin() + token * experts, experts, placed.begin() + token * stride);
        const DeviceValues<float> router(placed);
        const DeviceValues<std::int32_t> chosen(std::size_t(tokens * used));
        const DeviceValues<float> weights(std::size_t(tokens * used));
        QCOMPARE(routeTokens(deviceRows(router, tokens, experts, stride), used, weighting, chosen.data(),
                             weights.data(), nullptr),
                 cudaSuccess);
        const Routes wanted = wantedRoutes(logits, tokens, used, weighting);
        QCOMPARE(chosen.read(), std::vector<std::int32_t>(wanted.chosen.begin(), wanted.chosen.end()));
        const std::vector<float> got = weights.read();
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY(std::abs(double(got[i]) - wanted.weights[i]) <= 2e-6 * wanted.weights[i]);
        const std::vector<float> probabilities = router.read();
        for (int i = 0; i < tokens * stride; ++i) {
            const double value = double(probabilities[std::size_t(i)]);
            if (i % stride >= experts) {
                QCOMPARE(value, 99.0);
                continue;
            }
            const double share = wanted.probabilities[std::size_t(i / stride * experts + i % stride)];
            QVERIFY(std::abs(value - share) <= 2e-6 * share);
        }
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

/// Whatever the logits are, each token gets experts that exist, none twice.
void TestExpertProducts::routesOfNoNumbers()
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<std::vector<float>> cases = {{nan, nan, nan, nan},
                                                   {-infinity, -infinity, -infinity, -infinity},
                                                   {infinity, infinity, infinity, 0.0F},
                                                   {nan, -infinity, 1.0F, nan}};
    const std::vector<std::vector<std::int32_t>> wanted = {{0, 1}, {0, 1}, {0, 1}, {0, 2}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const DeviceValues<float> router(cases[i]);
        const DeviceValues<std::int32_t> chosen(2);
        const DeviceValues<float> weights(2);
        QCOMPARE(routeTokens(deviceRows(router, 1, 4), 2, RouteWeighting::OfAll, chosen.data(),
                             weights.data(), nullptr),
                 cudaSuccess);
        QCOMPARE(chosen.read(), wanted[i]);
    }
}

void TestExpertProducts::multiplies_data()
{
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<bool>("isRounded"); // the activations, to 15 bits
    for (const TensorType type : computableTypes) {
        QTest::addRow("%s", traitsOf(type).name) << type << false;
        if (hasQuantizedProduct(type, 512))
            QTest::addRow("%s, rounded", traitsOf(type).name) << type << true;
    }
}

void TestExpertProducts::multiplies()
{
    QFETCH(TensorType, type);
    QFETCH(bool, isRounded);
    constexpr int experts = 5;
    constexpr int used = 2;
    constexpr int tokens = 3;
    constexpr int outputs = 6;
    const int columns = traitsOf(type).blockValues == 1 ? 75 : 512;
    std::vector<std::unique_ptr<PackedMatrix>> matrices;
    std::vector<const std::byte *> data;
    for (int expert = 0; expert < experts; ++expert) {
        matrices.push_back(std::make_unique<PackedMatrix>(type, outputs, columns, unsigned(140 + expert)));
        data.push_back(matrices.back()->weight().data);
    }
    const DeviceValues<const std::byte *> pointers(data);
    const std::vector<std::int32_t> chosen = {1, 4, 0, 1, 2, 3};
    const DeviceValues<std::int32_t> deviceChosen(chosen);
    const DeviceValues<std::int32_t> order(std::vector<std::int32_t>{5, 0, 2, 4, 1, 3});
    for (const bool hasOwnInput : {false, true}) {
        const int inputs = hasOwnInput ? tokens * used : tokens;
        const ExpertPairs pairs{deviceChosen.data(), hasOwnInput ? order.data() : nullptr, used, hasOwnInput};
        const std::vector<float> values = randomFloats(std::size_t(inputs * columns), 2.0F, 150U);
        const DeviceValues<float> input(values);
        std::optional<QuantizedCase> rounded;
        if (isRounded)
            rounded.emplace(values, inputs, columns);
        const DeviceValues<float> output(std::size_t(tokens * used * outputs));
        const ExpertProduct one{{pointers.data(), type, experts, outputs, columns},
                                deviceRows(output, tokens * used, outputs)};
        QCOMPARE(isRounded
                     ? multiplyExpertsQuantized(&one, 1, pairs, rounded->rows(), nullptr)
                     : multiplyExpertsExact(&one, 1, pairs, deviceRows(input, inputs, columns), nullptr),
                 cudaSuccess);
        const std::vector<float> got = output.read();
        for (int pair = 0; pair < tokens * used; ++pair) {
            const int row = hasOwnInput ? pair : pair / used;
            const std::vector<double> x =
                isRounded ? rounded->row(row)
                          : asDoubles(values, std::size_t(row * columns), std::size_t(columns));
            const PackedMatrix &matrix = *matrices[std::size_t(chosen[std::size_t(pair)])];
            for (int i = 0; i < outputs; ++i) {
                const Dot wanted = dot(matrix.row(i), x);
                QVERIFY(std::abs(double(got[std::size_t(pair * outputs + i)]) - wanted.sum) <=
                        2e-6 * wanted.magnitude);
            }
        }
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

void TestExpertProducts::groups_data()
{
    QTest::addColumn<int>("pairs");
    QTest::addColumn<int>("experts");
    for (const auto &[pairs, experts] : {std::pair{1, 1},
                                         {7, 3},
                                         {900, 8},
                                         {4096, 128},
                                         {5000, 1024},
                                         {30, 1500},
                                         {6000, int(mostGroupedExperts)}})
        QTest::addRow("%d of %d", pairs, experts) << pairs << experts;
}

/// Each pair once, lower experts first.
void TestExpertProducts::groups()
{
    QFETCH(int, pairs);
    QFETCH(int, experts);
    std::mt19937 random{7U};
    std::vector<std::int32_t> chosen;
    // Some of them are never chosen, one often.
    for (int i = 0; i < pairs; ++i)
        chosen.push_back(i % 5 == 0 ? experts / 2 : std::int32_t(random() % unsigned(experts)) / 2 * 2);
    const DeviceValues<std::int32_t> deviceChosen(chosen);
    for (const std::uint64_t seed : {1, 2, 3}) {
        cudahost::setSeed(seed);
        const DeviceValues<std::int32_t> order{std::size_t(pairs)};
        QCOMPARE(groupPairs(deviceChosen.data(), pairs, experts, order.data(), nullptr), cudaSuccess);
        std::vector<std::int32_t> got = order.read();
        for (std::size_t i = 0; i + 1 < got.size(); ++i)
            QVERIFY(chosen[std::size_t(got[i])] <= chosen[std::size_t(got[i + 1])]);
        std::sort(got.begin(), got.end());
        for (std::size_t i = 0; i < got.size(); ++i)
            QCOMPARE(got[i], std::int32_t(i));
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

/// More pairs than a grid has room for along y: several launches, in the order that is asked for.
void TestExpertProducts::manyPairs()
{
    constexpr int used = 2;
    constexpr int tokens = 32768;
    constexpr int columns = 1;
    const PackedMatrix one(TensorType::F32, 1, columns, 161U);
    const PackedMatrix two(TensorType::F32, 1, columns, 162U);
    const DeviceValues<const std::byte *> pointers(
        std::vector<const std::byte *>{one.weight().data, two.weight().data});
    std::vector<std::int32_t> chosen;
    std::vector<float> values;
    for (int token = 0; token < tokens; ++token) {
        chosen.insert(chosen.end(), {0, 1});
        values.push_back(float(token));
    }
    const DeviceValues<std::int32_t> deviceChosen(chosen);
    const DeviceValues<float> input(values);
    const DeviceValues<float> output(std::size_t(tokens * used));
    const ExpertProduct product{{pointers.data(), TensorType::F32, 2, 1, columns},
                                deviceRows(output, tokens * used, 1)};
    cudahost::recordLaunches();
    std::vector<std::int32_t> backwards(std::size_t(tokens * used));
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    const DeviceValues<std::int32_t> order(backwards);
    QCOMPARE(multiplyExpertsExact(&product, 1, {deviceChosen.data(), order.data(), used, false},
                                  deviceRows(input, tokens, columns), nullptr),
             cudaSuccess);
    const std::vector<cudahost::LaunchRecord> launches = cudahost::takeLaunches();
    QCOMPARE(launches.size(), std::size_t(2));
    QCOMPARE(launches[0].grid.y, 65535U);
    QCOMPARE(launches[1].grid.y, 1U);
    const std::vector<float> got = output.read();
    for (int pair = 0; pair < tokens * used; ++pair) {
        const double weight = pair % 2 == 0 ? one.row(0)[0] : two.row(0)[0];
        TOKENLOUPE_COMPARE_EXACT(got[std::size_t(pair)], float(weight * (pair / 2)));
    }
}

void TestExpertProducts::combines()
{
    for (const int columns : {1, 128, 300}) {
        for (const int used : {1, 3}) {
            constexpr int tokens = 4;
            const std::vector<float> values = randomFloats(std::size_t(tokens * used * columns), 2.0F, 171U);
            const std::vector<float> weights = randomFloats(std::size_t(tokens * used), 1.0F, 172U);
            const DeviceValues<float> rows(values);
            const DeviceValues<float> deviceWeights(weights);
            const DeviceValues<float> output(std::vector<float>(std::size_t(tokens * (columns + 1)), 5.0F));
            QCOMPARE(combineExperts(deviceRows(rows, tokens * used, columns), deviceWeights.data(), used,
                                    deviceRows(output, tokens, columns, columns + 1), nullptr),
                     cudaSuccess);
            const std::vector<float> got = output.read();
            for (int token = 0; token < tokens; ++token) {
                for (int column = 0; column < columns; ++column) {
                    double wanted = 0;
                    for (int i = 0; i < used; ++i)
                        wanted += double(weights[std::size_t(token * used + i)]) *
                                  double(values[std::size_t((token * used + i) * columns + column)]);
                    QVERIFY(std::abs(double(got[std::size_t(token * (columns + 1) + column)]) - wanted) <=
                            1e-6);
                }
                QCOMPARE(got[std::size_t(token * (columns + 1) + columns)], 5.0F);
            }
        }
    }
}

void TestExpertProducts::wrongCalls()
{
    const PackedMatrix matrix(TensorType::Q8_0, 4, 64, 181U);
    const DeviceValues<const std::byte *> pointers(std::vector<const std::byte *>(3, matrix.weight().data));
    const DeviceValues<std::int32_t> chosen(std::vector<std::int32_t>(4, 0));
    const DeviceValues<float> floats(std::vector<float>(1024, 1.0F));
    const DeviceExperts experts{pointers.data(), TensorType::Q8_0, 3, 4, 64};
    const DeviceRows input = deviceRows(floats, 2, 64);
    const DeviceRows output = deviceRows(floats, 4, 4, 0, 512);
    const auto multiply = [&](const DeviceExperts &e, int used, bool hasOwnInput, DeviceRows x,
                              DeviceRows y) {
        const ExpertProduct one{e, y};
        return multiplyExpertsExact(&one, 1, {chosen.data(), nullptr, used, hasOwnInput}, x, nullptr);
    };
    QCOMPARE(multiply(experts, 2, false, input, output), cudaSuccess);
    QCOMPARE(multiply(experts, 2, true, input, output), cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 1, false, input, output), cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 4, false, deviceRows(floats, 1, 64), output), cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 0, false, input, output), cudaErrorInvalidValue);
    QCOMPARE(multiply({nullptr, TensorType::Q8_0, 3, 4, 64}, 2, false, input, output), cudaErrorInvalidValue);
    QCOMPARE(multiply({pointers.data(), TensorType::I16, 3, 4, 64}, 2, false, input, output),
             cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 2, false, deviceRows(floats, 2, 32), output), cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 2, false, deviceRows(floats, 2, 64, 66), output), cudaErrorInvalidValue);
    QCOMPARE(multiply(experts, 2, false, input, deviceRows(floats, 4, 5)), cudaErrorInvalidValue);
    const ExpertProduct one{experts, output};
    QCOMPARE(multiplyExpertsExact(&one, 1, {nullptr, nullptr, 2, false}, input, nullptr),
             cudaErrorInvalidValue);

    const QuantizedCase rounded(std::vector<float>(128, 1.0F), 2, 64);
    const auto multiplyRounded = [&](const ExpertProduct &product, const std::int32_t *ids, int used,
                                     const QuantizedRows &x) {
        return multiplyExpertsQuantized(&product, 1, {ids, nullptr, used, false}, x, nullptr);
    };
    QCOMPARE(multiplyRounded(one, chosen.data(), 2, rounded.rows()), cudaSuccess);
    QCOMPARE(multiplyRounded(one, nullptr, 2, rounded.rows()), cudaErrorInvalidValue);
    QCOMPARE(multiplyRounded(one, chosen.data(), 1, rounded.rows()), cudaErrorInvalidValue);
    QCOMPARE(multiplyRounded(one, chosen.data(), 2, QuantizedRows()), cudaErrorInvalidValue);
    const ExpertProduct plain{{pointers.data(), TensorType::F16, 3, 4, 64}, output};
    QCOMPARE(multiplyRounded(plain, chosen.data(), 2, rounded.rows()), cudaErrorInvalidValue);

    const DeviceValues<std::int32_t> order(4);
    QCOMPARE(groupPairs(nullptr, 4, 3, order.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(groupPairs(chosen.data(), 4, 3, nullptr, nullptr), cudaErrorInvalidValue);
    QCOMPARE(groupPairs(chosen.data(), 0, 3, order.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(groupPairs(chosen.data(), 4, 0, order.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(groupPairs(chosen.data(), 4, mostGroupedExperts + 1, order.data(), nullptr),
             cudaErrorInvalidValue);

    const auto route = [&](DeviceRows router, int used) {
        return routeTokens(router, used, RouteWeighting::OfAll, chosen.data(), floats.data(), nullptr);
    };
    QCOMPARE(route(deviceRows(floats, 2, 8, 0, 512), 2), cudaSuccess);
    QCOMPARE(route(deviceRows(floats, 2, 8, 0, 512), 9), cudaErrorInvalidValue);
    QCOMPARE(route(deviceRows(floats, 2, 8, 0, 512), 0), cudaErrorInvalidValue);
    QCOMPARE(route(deviceRows(floats, 2, 8, 7, 512), 2), cudaErrorInvalidValue);
    QCOMPARE(route({nullptr, 2, 8, 8}, 2), cudaErrorInvalidValue);
    QCOMPARE(routeTokens(deviceRows(floats, 2, 8), 2, RouteWeighting::OfAll, nullptr, floats.data(), nullptr),
             cudaErrorInvalidValue);

    const auto combine = [&](DeviceRows rows, int used, DeviceRows target) {
        return combineExperts(rows, floats.data(), used, target, nullptr);
    };
    QCOMPARE(combine(deviceRows(floats, 4, 8), 2, deviceRows(floats, 2, 8, 0, 512)), cudaSuccess);
    QCOMPARE(combine(deviceRows(floats, 4, 8), 0, deviceRows(floats, 2, 8, 0, 512)), cudaErrorInvalidValue);
    QCOMPARE(combine(deviceRows(floats, 4, 8), 3, deviceRows(floats, 2, 8, 0, 512)), cudaErrorInvalidValue);
    QCOMPARE(combine(deviceRows(floats, 4, 8), 1, deviceRows(floats, 2, 8, 0, 512)), cudaErrorInvalidValue);
    QCOMPARE(combine(deviceRows(floats, 4, 8), 2, deviceRows(floats, 2, 9, 0, 512)), cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TestExpertProducts)
#include "tst_expertproducts.moc"
