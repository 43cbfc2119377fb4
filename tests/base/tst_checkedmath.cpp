// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/checkedmath.h"
#include "tests/support/testmain.h"

#include <random>

using namespace tokenloupe;

__extension__ using Wide = unsigned __int128;

class TestCheckedMath : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithWideArithmetic();
    void staysInvalid();
    void roundsUp();
};

void TestCheckedMath::agreesWithWideArithmetic()
{
    std::mt19937_64 random(7);
    int invalid = 0;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t a = random() >> (random() % 64);
        const std::uint64_t b = random() >> (random() % 64);
        const bool fit = a <= CheckedSize::limit && b <= CheckedSize::limit;
        const auto product = static_cast<Wide>(a) * b;
        const auto sum = static_cast<Wide>(a) + b;
        const CheckedSize times = CheckedSize(a) * b;
        const CheckedSize plus = CheckedSize(a) + b;
        QCOMPARE(times.isValid(), fit && product <= CheckedSize::limit);
        QCOMPARE(plus.isValid(), fit && sum <= CheckedSize::limit);
        QCOMPARE(times.value(), times.isValid() ? static_cast<std::uint64_t>(product) : CheckedSize::limit);
        QCOMPARE(plus.value(), plus.isValid() ? static_cast<std::uint64_t>(sum) : CheckedSize::limit);
        invalid += times.isValid() ? 0 : 1;
    }
    QVERIFY(invalid > 1000 && invalid < 19000); // both sides were seen
}

void TestCheckedMath::staysInvalid()
{
    CheckedSize size = CheckedSize(std::uint64_t(1) << 40) * (std::uint64_t(1) << 40);
    QVERIFY(!size.isValid());
    size *= CheckedSize(0); // would be 0 in wrapped arithmetic
    QVERIFY(!size.isValid());
    size += CheckedSize(1);
    QVERIFY(!size.isValid());
    QCOMPARE(size.value(), CheckedSize::limit);
    QVERIFY(!size.roundedUp(64).isValid());
}

void TestCheckedMath::roundsUp()
{
    QCOMPARE(CheckedSize(0).roundedUp(16).value(), std::uint64_t(0));
    QCOMPARE(CheckedSize(1).roundedUp(16).value(), std::uint64_t(16));
    QCOMPARE(CheckedSize(16).roundedUp(16).value(), std::uint64_t(16));
    QCOMPARE(CheckedSize(17).roundedUp(16).value(), std::uint64_t(32));
    QVERIFY(!CheckedSize(CheckedSize::limit).roundedUp(16).isValid());
}

TOKENLOUPE_TEST_MAIN(TestCheckedMath)
#include "tst_checkedmath.moc"
