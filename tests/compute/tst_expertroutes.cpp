// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/expertroutes.h"

#include "tests/support/testmain.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

using namespace tokenloupe;

class TestExpertRoutes : public QObject
{
    Q_OBJECT

private slots:
    void takesTheLargest();
    void equalOnesByNumber();
    void rowsOfExpertsAreComplete();
    void numbersThatAreNone();
};

void TestExpertRoutes::takesTheLargest()
{
    ExpertRoutes routes;
    const std::vector<float> probabilities = {0.1F, 0.4F, 0.3F, 0.2F, 0.7F, 0.1F, 0.15F, 0.05F};
    routes.choose(probabilities, 4, 2, ExpertWeighting::OfChosen);
    QCOMPARE(routes.tokens(), 2U);
    QCOMPARE(routes.of(0)[0].expert, 1U);
    QCOMPARE(routes.of(0)[1].expert, 2U);
    QCOMPARE(routes.of(0)[0].weight, 0.4F / (0.4F + 0.3F));
    QCOMPARE(routes.of(1)[0].expert, 0U);
    QCOMPARE(routes.of(1)[1].expert, 2U);
    routes.choose(probabilities, 4, 2, ExpertWeighting::OfAll);
    QCOMPARE(routes.of(0)[0].weight, 0.4F);
    QCOMPARE(routes.of(1)[1].weight, 0.15F);
}

void TestExpertRoutes::equalOnesByNumber()
{
    ExpertRoutes routes;
    routes.choose(std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F}, 4, 3, ExpertWeighting::OfChosen);
    for (std::uint32_t i = 0; i < 3; ++i)
        QCOMPARE(routes.of(0)[i].expert, i);
}

void TestExpertRoutes::rowsOfExpertsAreComplete()
{
    constexpr std::uint32_t tokens = 50;
    constexpr std::uint32_t experts = 9;
    constexpr std::uint32_t used = 4;
    std::mt19937 random(3);
    std::vector<float> probabilities(std::size_t{tokens} * experts);
    for (float &value : probabilities)
        value = std::uniform_real_distribution<float>()(random);
    ExpertRoutes routes;
    routes.choose(probabilities, experts, used, ExpertWeighting::OfChosen);
    std::set<std::uint32_t> places;
    for (std::uint32_t token = 0; token < tokens; ++token) {
        float sum = 0.0F;
        std::vector<float> own(probabilities.begin() + std::ptrdiff_t(token * experts),
                               probabilities.begin() + std::ptrdiff_t((token + 1) * experts));
        std::sort(own.begin(), own.end(), std::greater<>());
        for (const ExpertRoutes::Choice &choice : routes.of(token)) {
            QVERIFY(places.insert(choice.place).second);
            QVERIFY(choice.place >= routes.begin(choice.expert));
            QVERIFY(choice.place < routes.begin(choice.expert + 1));
            QCOMPARE(routes.tokenAt(choice.place), token);
            QVERIFY(probabilities[token * experts + choice.expert] >= own[used - 1]);
            sum += choice.weight;
        }
        QVERIFY(std::abs(sum - 1.0F) < 1e-6F);
        // Alone it chooses the same.
        ExpertRoutes alone;
        alone.choose(std::span(probabilities).subspan(token * experts, experts), experts, used,
                     ExpertWeighting::OfChosen);
        for (std::uint32_t i = 0; i < used; ++i) {
            QCOMPARE(alone.of(0)[i].expert, routes.of(token)[i].expert);
            QCOMPARE(alone.of(0)[i].weight, routes.of(token)[i].weight);
        }
    }
    QCOMPARE(routes.begin(experts), tokens * used);
}

/// A broken model must not lead outside of the tables.
void TestExpertRoutes::numbersThatAreNone()
{
    ExpertRoutes routes;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    routes.choose(std::vector<float>{nan, nan, nan, nan, 0.5F, nan}, 3, 2, ExpertWeighting::OfChosen);
    for (std::uint32_t token = 0; token < 2; ++token) {
        QVERIFY(routes.of(token)[0].expert < routes.of(token)[1].expert);
        QVERIFY(routes.of(token)[1].expert < 3);
    }
}

TOKENLOUPE_TEST_MAIN(TestExpertRoutes)
#include "tst_expertroutes.moc"
