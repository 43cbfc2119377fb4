// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/transformer/runmodel.h"

#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;

/// The fast precision on the real model.
class TestSmolFast : public QObject
{
    Q_OBJECT

private slots:
    void staysCloseToExact();
};

void TestSmolFast::staysCloseToExact()
{
    TOKENLOUPE_NEED_SMOL(path);
    std::vector<std::uint32_t> ids; // any tokens: unlikely text is the harder case
    for (std::uint32_t i = 0; i < 48; ++i)
        ids.push_back(260 + i * 977 % 40000);
    RunModel exact(path);
    RunOptions options;
    options.precision = Precision::Fast;
    RunModel rounded(exact.sharedModel(), options);
    const std::vector<float> reference = exact.feedAll(ids);
    const std::vector<float> logits = rounded.feedAll(ids);
    const std::size_t vocabulary = exact.vocabulary();
    const double divergence = meanDivergence(reference, logits, vocabulary);
    QVERIFY2(divergence < 1e-4, qPrintable(QString::number(divergence)));
    // In other pieces: the same bits.
    rounded.cache().truncate(rounded.sequence(), 0);
    const std::vector<float> pieces = rounded.feedAll(ids, 7);
    QVERIFY(std::memcmp(pieces.data(), logits.data(), logits.size() * sizeof(float)) == 0);
    // The mapping's pages were given back and come again: exact results are what they were.
    exact.cache().truncate(exact.sequence(), 0);
    const std::vector<float> again = exact.feedAll(ids);
    QVERIFY(std::memcmp(again.data(), reference.data(), reference.size() * sizeof(float)) == 0);
}

TOKENLOUPE_TEST_MAIN(TestSmolFast)
#include "tst_smolfast.moc"
