// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/modeltitle.h"

#include <QFileInfo>
#include <QRegularExpression>

namespace tokenloupe {

QString modelTitle(const QString &fileName)
{
    static const QRegularExpression ending(QStringLiteral("\\.gguf$"),
                                           QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression type(QStringLiteral("[-._](?:b?f(?:16|32)|i?q\\d(?:_[a-z0-9]+)*|mxfp4)$"),
                                         QRegularExpression::CaseInsensitiveOption);
    QString title = QFileInfo(fileName).fileName();
    title.remove(ending);
    QString shorter = title;
    shorter.remove(type);
    return shorter.isEmpty() ? title : shorter;
}

QString modelTitle(const Model &model)
{
    return modelTitle(QString::fromStdString(model.path().string()));
}

} // namespace tokenloupe
