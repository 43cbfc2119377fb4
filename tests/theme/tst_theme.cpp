// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

namespace {

QByteArray themesFile()
{
    QFile file(QString::fromStdString(test::sourcePath("resources/themes.json").string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

ThemeColors colorsOf(const QString &theme)
{
    const Result<ThemeColors> colors = readThemeColors(themesFile(), theme);
    return colors ? *colors : ThemeColors();
}

QColor averageOf(const QIcon &icon, QIcon::Mode mode, QIcon::State state)
{
    const QImage image = icon.pixmap(QSize(32, 32), 1.0, mode, state).toImage();
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y).alpha() == 255)
                return image.pixelColor(x, y);
    return {};
}

} // namespace

class TestTheme : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void contrastRatioIsTheStandardOne_data()
    {
        QTest::addColumn<QColor>("a");
        QTest::addColumn<QColor>("b");
        QTest::addColumn<double>("ratio");
        QTest::newRow("black on white") << QColor(Qt::black) << QColor(Qt::white) << 21.0;
        QTest::newRow("same") << QColor("#66707C") << QColor("#66707C") << 1.0;
        QTest::newRow("order does not matter") << QColor("#FFFFFF") << QColor("#777777") << 4.478;
    }
    void contrastRatioIsTheStandardOne()
    {
        QFETCH(QColor, a);
        QFETCH(QColor, b);
        QFETCH(double, ratio);
        QVERIFY(std::abs(contrastRatio(a, b) - ratio) < 0.01);
    }

    void textIsReadable_data()
    {
        QTest::addColumn<QColor>("text");
        QTest::addColumn<QColor>("ground");
        for (const QString &theme : {QStringLiteral("light"), QStringLiteral("dark")}) {
            const ThemeColors c = colorsOf(theme);
            const auto row = [&](const char *name, const QColor &text, const QColor &ground) {
                QTest::addRow("%s: %s", qPrintable(theme), name) << text << ground;
            };
            row("text on window", c.text, c.window);
            row("text on panel", c.text, c.panel);
            row("text on chip", c.text, c.chip);
            row("text on selected row", c.text, c.softAccent);
            row("text on strongest surprise", c.text, blended(c.panel, c.surprise, 1.0));
            row("text on half surprise", c.text, blended(c.panel, c.surprise, 0.5));
            row("text on strongest probability", c.text, blended(c.panel, c.probability, 1.0));
            row("muted on panel", c.muted, c.panel);
            row("muted on removed chip", c.muted, blended(c.panel, c.chip, 0.5));
            row("muted on window", c.mutedOnTint, c.window);
            row("muted on chip", c.mutedOnTint, c.chip);
            row("muted on selected row", c.mutedOnTint, c.softAccent);
            row("accent on panel", c.accent, c.panel);
            row("control token", c.accent, c.softAccent);
            row("drawn token", c.onAccent, c.accent);
            row("warning", c.warning, c.panel);
            row("error", c.error, c.panel);
            row("ok", c.ok, c.panel);
            row("text on error bar", c.text, blended(c.panel, c.error, 0.08));
            for (int i = 0; i < 6; ++i) {
                row(qPrintable(QStringLiteral("stage %1 on panel").arg(i)), c.stageTexts[i], c.panel);
                row(qPrintable(QStringLiteral("stage %1 on selected row").arg(i)), c.stageTexts[i],
                    c.softAccent);
            }
        }
    }
    void textIsReadable()
    {
        QFETCH(QColor, text);
        QFETCH(QColor, ground);
        QVERIFY(text.isValid() && ground.isValid());
        const double ratio = contrastRatio(text, ground);
        QVERIFY2(ratio >= 4.5,
                 qPrintable(QStringLiteral("%1 on %2: %3").arg(text.name(), ground.name()).arg(ratio)));
    }

    void marksAreVisible()
    {
        for (const QString &theme : {QStringLiteral("light"), QStringLiteral("dark")}) {
            const ThemeColors c = colorsOf(theme);
            for (int i = 0; i < 6; ++i) {
                const double ratio = contrastRatio(c.stages[i], c.panel);
                QVERIFY2(ratio >= 3.0,
                         qPrintable(QStringLiteral("%1: stage %2: %3").arg(theme).arg(i).arg(ratio)));
            }
            QVERIFY(contrastRatio(c.accent, c.panel) >= 3.0);
            // the switch that is off, and the focus ring on a selected row
            QVERIFY(contrastRatio(blended(c.panel, c.muted, 0.75), c.panel) >= 3.0);
            QVERIFY(contrastRatio(c.accent, c.softAccent) >= 3.0);
        }
    }

    void aBrokenFileIsNamed_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("mentions");
        const QJsonObject good = QJsonDocument::fromJson(themesFile()).object();
        const auto changed = [&](const QString &field, const QJsonValue &value) {
            QJsonObject light = good.value(QStringLiteral("light")).toObject();
            if (value.isUndefined())
                light.remove(field);
            else
                light.insert(field, value);
            return QJsonDocument(QJsonObject{{QStringLiteral("light"), light}}).toJson();
        };
        QTest::newRow("not JSON") << QByteArray("{") << QStringLiteral("light");
        QTest::newRow("no theme") << QByteArray("{}") << QStringLiteral("light");
        QTest::newRow("field missing")
            << changed(QStringLiteral("chip"), QJsonValue::Undefined) << QStringLiteral("chip");
        QTest::newRow("no colour") << changed(QStringLiteral("accent"), QStringLiteral("bluish"))
                                   << QStringLiteral("accent");
        QTest::newRow("too few stages")
            << changed(QStringLiteral("stages"), QJsonArray{QStringLiteral("#000000")})
            << QStringLiteral("stages");
    }
    void aBrokenFileIsNamed()
    {
        QFETCH(QByteArray, json);
        QFETCH(QString, mentions);
        const Result<ThemeColors> colors = readThemeColors(json, QStringLiteral("light"));
        QVERIFY(!colors);
        QVERIFY2(QString::fromStdString(colors.error().text()).contains(mentions),
                 colors.error().text().c_str());
    }

    void aSwitchChangesPaletteFontsStay()
    {
        Theme &theme = Theme::instance();
        theme.install();
        theme.setMode(ThemeMode::Light);
        QCOMPARE(theme.colors().panel, QColor("#FFFFFF"));
        QSignalSpy changed(&theme, &Theme::changed);
        QPushButton button(QStringLiteral("x"));
        theme.setMode(ThemeMode::Dark);
        QCOMPARE(changed.size(), 1);
        QVERIFY(theme.isDark());
        QCOMPARE(theme.colors().panel, QColor("#1E2227"));
        QCOMPARE(QApplication::palette().color(QPalette::Window), QColor("#15181C"));
        QTRY_COMPARE(button.palette().color(QPalette::ButtonText), QColor("#E4E8EC"));
        theme.setMode(ThemeMode::Dark);
        QCOMPARE(changed.size(), 1);
        theme.setMode(ThemeMode::Light);
        QCOMPARE(QApplication::font().pixelSize(), theme.font(TextRole::Body).pixelSize());
        QVERIFY(theme.font(TextRole::Chat).pixelSize() > theme.font(TextRole::Body).pixelSize());
        QVERIFY(theme.font(TextRole::Small).pixelSize() < theme.font(TextRole::Body).pixelSize());
    }

    void iconsFollowTheTheme()
    {
        Theme &theme = Theme::instance();
        theme.install();
        theme.setMode(ThemeMode::Light);
        const QIcon icon = theme.icon(QStringLiteral("stop"));
        QCOMPARE(averageOf(icon, QIcon::Normal, QIcon::Off), theme.colors().text);
        QCOMPARE(averageOf(icon, QIcon::Disabled, QIcon::Off), theme.colors().faint);
        QCOMPARE(averageOf(icon, QIcon::Normal, QIcon::On), theme.colors().onAccent);
        theme.setMode(ThemeMode::Dark);
        QCOMPARE(averageOf(icon, QIcon::Normal, QIcon::Off), theme.colors().text);
        QVERIFY(theme.icon(QStringLiteral("no-such-icon")).pixmap(16, 16).isNull() ||
                !averageOf(theme.icon(QStringLiteral("no-such-icon")), QIcon::Normal, QIcon::Off).isValid());
        theme.setMode(ThemeMode::Light);
    }

    void everyIconDraws()
    {
        const QStringList names = {
            QStringLiteral("run"),    QStringLiteral("pause"),  QStringLiteral("step"),
            QStringLiteral("stop"),   QStringLiteral("branch"), QStringLiteral("new"),
            QStringLiteral("open"),   QStringLiteral("send"),   QStringLiteral("close"),
            QStringLiteral("search"), QStringLiteral("copy"),   QStringLiteral("settings")};
        for (const QString &name : names)
            QVERIFY2(averageOf(Theme::instance().icon(name), QIcon::Normal, QIcon::Off).isValid(),
                     qPrintable(name));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTheme)
#include "tst_theme.moc"
