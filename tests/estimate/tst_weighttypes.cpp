// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <cstdio>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

class TestWeightTypes : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void measured()
    {
        TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
        const json facts = readJson(path);
        for (const json &row : facts["measured"]) {
            if (!row.contains("file_size") || !row.contains("file_type") || !row["n_head"].is_number())
                continue;
            double size = 0, bpw = 0; char unit = 'G';
            std::sscanf(row["file_size"].get<std::string>().c_str(), "%lf %ciB (%lf", &size, &unit, &bpw);
            for (const json &model : facts["models"]) {
                if (model["layers"] != row["n_layer"] || model["hidden"] != row["n_embd"] || model["heads"] != row["n_head"] || model["ffn"] != row["n_ff"] || (row["gguf_arch"].is_string() && model["gguf_arch"] != row["gguf_arch"]))
                    continue;
                json changed = model;
                changed["embedding_rows"] = row["n_vocab"];
                auto shape = shapeOfJson(changed.dump(), "x");
                std::string type = row["file_type"].get<std::string>();
                type = type.substr(0, type.find(" - "));
                const std::string full = row["file_type"].get<std::string>();
                if (full.find("Medium") != std::string::npos && type != "Q2_K") type += "_M";
                auto plan = planWeights(*shape, type);
                if (!plan) { std::printf("%s %s: no\n", model["id"].get<std::string>().c_str(), full.c_str()); break; }
                double gib = plan->bytes / 1073741824.0;
                std::printf("%d %-28s %-18s file %.3f GiB %.3f bpw; plan %.3f %.3f  ratio %.4f\n", int(&row-&facts["measured"][0]), model["id"].get<std::string>().c_str(), full.c_str(), size, bpw, gib, plan->bitsPerWeight, gib / size);
                break;
            }
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestWeightTypes)
#include "tst_weighttypes.moc"
