// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

class TestModelShape : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsBuiltInShapes_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<quint64>("published");
        const json list = readJson(sourcePath("resources/shapes.json"));
        for (const json &entry : list)
            QTest::addRow("%s", entry["name"].get<std::string>().c_str())
                << QString::fromStdString(entry["name"].get<std::string>())
                << quint64(entry["published"].get<std::uint64_t>());
    }
    void countsBuiltInShapes()
    {
        QFETCH(QString, name);
        QFETCH(quint64, published);
        const auto shape = builtInShape(name.toStdString());
        QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
        const double ratio = double(shape->parameters()) / double(published);
        QVERIFY2(std::abs(ratio - 1.0) <= 0.01, std::to_string(shape->parameters()).c_str());
        if (shape->parameters() != published)
            qInfo("%s %f %llu", name.toUtf8().data(), ratio, static_cast<unsigned long long>(shape->parameters()));
        QCOMPARE(shape->source, std::string("built in"));
    }
};

TOKENLOUPE_TEST_MAIN(TestModelShape)
#include "tst_modelshape.moc"
