// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/logitscan.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> logitsFor(std::uint64_t seed, std::size_t n, LogitShape shape)
{
    std::vector<float> logits = randomLogits(seed, n, shape);
    std::replace_if(
        logits.begin(), logits.end(), [](float x) { return std::isnan(x); }, -infinity);
    return logits;
}

bool equal(const std::vector<Candidate> &a, const std::vector<Candidate> &b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Candidate &x, const Candidate &y) {
        return x.id == y.id && x.logit == y.logit;
    });
}

} // namespace

class TestLogitScan : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void everyScan_data()
    {
        QTest::addColumn<std::size_t>("n");
        QTest::addColumn<int>("shape");
        for (const std::size_t n : {1, 2, 63, 64, 65, 129, 1000, 20011}) {
            for (const LogitShape shape : allShapes)
                QTest::addRow("%zu %s", n, shapeName(shape).c_str()) << n << static_cast<int>(shape);
        }
    }
    void everyScan()
    {
        QFETCH(std::size_t, n);
        QFETCH(int, shape);
        const std::vector<float> logits = logitsFor(n + 17, n, static_cast<LogitShape>(shape));
        Candidates all;
        all.assign(logits);
        std::vector<Candidate> sorted = all.items;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const Candidate &a, const Candidate &b) { return a.logit > b.logit; });

        for (const std::size_t count :
             {std::size_t(0), std::size_t(1), std::size_t(2), std::size_t(40), n / 8, n / 2, n, n + 5}) {
            const std::vector<Candidate> expected(sorted.begin(),
                                                  sorted.begin() + std::ptrdiff_t(std::min(count, n)));
            QVERIFY(equal(selectTop(std::span<const float>(logits), count), expected));
            QVERIFY(equal(selectTop(all.items, count), expected));
        }
        for (const std::size_t at : {std::size_t(0), n / 3, n - 1}) {
            const float value = sorted[at].logit;
            QCOMPARE(indexOfEqual(logits, value),
                     std::size_t(std::find(logits.begin(), logits.end(), value) - logits.begin()));
            QCOMPARE(
                countGreater(logits, value),
                std::size_t(std::count_if(logits.begin(), logits.end(), [&](float x) { return x > value; })));
            QCOMPARE(countEqual(logits, value), std::size_t(std::count(logits.begin(), logits.end(), value)));
            // Thresholds at, a hair below and a hair above a value, closer than floats lie.
            for (const double threshold : {double(value), std::nextafter(double(value), -1e300),
                                           std::nextafter(double(value), 1e300)}) {
                std::vector<Candidate> expected = all.items;
                std::erase_if(expected,
                              [threshold](const Candidate &c) { return double(c.logit) < threshold; });
                const LogitPart part = selectAtLeast(logits, threshold);
                std::vector<Candidate> found;
                for (std::size_t i = 0; i < part.indices.size(); ++i)
                    found.push_back({TokenId(part.indices[i]), part.logits[i]});
                QVERIFY(equal(found, expected));
            }
        }
        QCOMPARE(indexOfEqual(logits, 12345.678F), n);

        std::vector<float> divided(n);
        divideAll(logits, -infinity, 0.7F, divided);
        for (std::size_t i = 0; i < n; ++i)
            QVERIFY(divided[i] == logits[i] / 0.7F);
    }

    void flaws()
    {
        std::vector<float> logits(200, 1.0F);
        QVERIFY(findFlaw(logits) == LogitFlaw::None);
        logits[3] = -infinity;
        QVERIFY(findFlaw(logits) == LogitFlaw::None);
        for (const std::size_t at : {std::size_t(0), std::size_t(63), std::size_t(64), std::size_t(199)}) {
            std::vector<float> flawed = logits;
            flawed[at] = std::numeric_limits<float>::quiet_NaN();
            QVERIFY(findFlaw(flawed) == LogitFlaw::NotANumber);
            flawed[199 - at] = infinity; // worse, and not always in front
            QVERIFY(findFlaw(flawed) == LogitFlaw::PositiveInfinity);
        }
        QVERIFY(findFlaw({}) == LogitFlaw::None);
    }
};

TOKENLOUPE_TEST_MAIN(TestLogitScan)
#include "tst_logitscan.moc"
