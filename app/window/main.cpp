// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/mainwindow.h"
#include "engine/compute/cuda/makecuda.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>

int main(int argc, char *argv[])
{
    using namespace tokenloupe;
    QApplication application(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("Tokenloupe"));
    QApplication::setApplicationName(QStringLiteral("Tokenloupe"));
    QApplication::setApplicationVersion(QStringLiteral(TOKENLOUPE_VERSION));

    QCommandLineParser parser;
    parser.setApplicationDescription(
        QApplication::translate("main", "Chats with a language model and shows how each token came to be."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        QStringLiteral("model"),
        QApplication::translate("main",
                                "GGUF file or Hugging Face folder to open; without it what was open last"),
        QStringLiteral("[model]"));
    const QCommandLineOption themeOption(QStringLiteral("theme"),
                                         QApplication::translate("main", "system, light or dark"),
                                         QStringLiteral("name"));
    const QCommandLineOption sizeOption(QStringLiteral("size"),
                                        QApplication::translate("main", "window size, as in 1600x1000"),
                                        QStringLiteral("WxH"));
    parser.addOptions({themeOption, sizeOption});
    parser.process(application);

    const QSettings settings;
    const QString theme = parser.isSet(themeOption) ? parser.value(themeOption)
                                                    : settings.value(QStringLiteral("theme")).toString();
    Theme::instance().setMode(theme == QLatin1String("dark")    ? ThemeMode::Dark
                              : theme == QLatin1String("light") ? ThemeMode::Light
                                                                : ThemeMode::System);
    Theme::instance().install();

    MainWindow window({cudaDevices, makeBackendOn});
    if (!window.restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray()))
        window.resize(1600, 1000);
    const QStringList size = parser.value(sizeOption).split(QLatin1Char('x'));
    if (size.size() == 2 && size[0].toInt() > 0 && size[1].toInt() > 0)
        window.resize(size[0].toInt(), size[1].toInt());
    window.restoreLayout();
    window.show();

    const QString last = settings.value(QStringLiteral("lastModel")).toString();
    if (!parser.positionalArguments().isEmpty())
        window.openModel(parser.positionalArguments().first());
    else if (!last.isEmpty() && QFileInfo::exists(last))
        window.openModel(last);
    return QApplication::exec();
}
