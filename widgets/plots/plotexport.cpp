// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/plot.h"

#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSaveFile>
#include <QTextStream>

namespace tokenloupe {

QString Plot::csv() const
{
    QString text;
    QTextStream out(&text);
    writeCsv(out);
    out.flush();
    return text;
}

Status Plot::saveAs(const QString &path) const
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    const std::string operation = "save " + path.toStdString();
    if (suffix == QLatin1String("csv")) {
        QSaveFile file(path);
        const QByteArray bytes = csv().toUtf8();
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
            return makeError(ErrorCode::IoError, operation, file.errorString().toStdString());
        return {};
    }
    bool saved = false;
    if (suffix == QLatin1String("png"))
        saved = m_chart->savePng(path, 0, 0, 2.0); // twice the pixels of the screen
    else if (suffix == QLatin1String("pdf"))
        saved = m_chart->savePdf(path);
    else
        return makeError(ErrorCode::InvalidArgument, operation, "the name must end in .png, .pdf or .csv");
    if (!saved)
        return makeError(ErrorCode::IoError, operation, "the file could not be written");
    return {};
}

void Plot::copyImage() const
{
    QApplication::clipboard()->setPixmap(m_chart->toPixmap(0, 0, 2.0));
}

void Plot::copyValues() const
{
    QApplication::clipboard()->setText(csv());
}

std::unique_ptr<QMenu> Plot::contextMenu()
{
    auto menu = std::make_unique<QMenu>();
    menu->addAction(tr("Copy image"), this, &Plot::copyImage);
    menu->addAction(tr("Copy values"), this, &Plot::copyValues);
    menu->addSeparator();
    menu->addAction(tr("Save as PNG…"), this,
                    [this] { saveWithDialog(QStringLiteral("png"), tr("PNG image (*.png)")); });
    menu->addAction(tr("Save as PDF…"), this,
                    [this] { saveWithDialog(QStringLiteral("pdf"), tr("PDF document (*.pdf)")); });
    menu->addAction(tr("Save values as CSV…"), this,
                    [this] { saveWithDialog(QStringLiteral("csv"), tr("Comma-separated values (*.csv)")); });
    menu->addSeparator();
    QAction *reset = menu->addAction(tr("Show all"), this, &Plot::resetView);
    reset->setEnabled(m_zoomed);
    return menu;
}

void Plot::contextMenuEvent(QContextMenuEvent *event)
{
    QMenu *menu = contextMenu().release();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(event->globalPos());
}

void Plot::saveWithDialog(const QString &suffix, const QString &filter)
{
    auto *dialog = new QFileDialog(this, tr("Save chart"), QString(), filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(suffix);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString &path) {
        if (const Status status = saveAs(path); !status)
            Q_EMIT saveFailed(QString::fromStdString(status.error().text()));
    });
    dialog->open();
}

} // namespace tokenloupe
