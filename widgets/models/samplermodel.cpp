// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/samplermodel.h"

#include <QDataStream>
#include <QIODevice>
#include <QMimeData>

namespace tokenloupe {

namespace {

const QString rowMimeType = QStringLiteral("application/x-tokenloupe-stage-row");

QString toQString(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

SamplerModel::SamplerModel(QObject *parent)
    : QAbstractListModel(parent)
    , m_settings(std::make_shared<SamplerSettings>(SamplerSettings::defaults()))
{}

void SamplerModel::setSettings(const SamplerSettings &settings)
{
    beginResetModel();
    m_settings = std::make_shared<SamplerSettings>(settings);
    endResetModel();
    Q_EMIT settingsChanged();
}

void SamplerModel::replace(SamplerSettings settings)
{
    m_settings = std::make_shared<SamplerSettings>(std::move(settings));
}

StageSettings SamplerModel::stage(int row) const
{
    return m_settings->stages[static_cast<std::size_t>(row)];
}

void SamplerModel::setStage(int row, const StageSettings &stage)
{
    if (row < 0 || row >= rowCount() || m_settings->stages[static_cast<std::size_t>(row)] == stage)
        return;
    if (const Status valid = validateStage(stage); !valid) {
        Q_EMIT stageRejected(row, toQString(valid.error().text()));
        return;
    }
    SamplerSettings changed = *m_settings;
    changed.stages[static_cast<std::size_t>(row)] = stage;
    replace(std::move(changed));
    Q_EMIT dataChanged(index(row), index(row));
    Q_EMIT settingsChanged();
}

void SamplerModel::setSeed(std::uint64_t seed)
{
    if (m_settings->seed == seed)
        return;
    SamplerSettings changed = *m_settings;
    changed.seed = seed;
    replace(std::move(changed));
    Q_EMIT settingsChanged();
}

void SamplerModel::setSeedMode(SeedMode mode)
{
    if (m_seedMode == mode)
        return;
    m_seedMode = mode;
    Q_EMIT settingsChanged();
}

int SamplerModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_settings->stages.size());
}

QVariant SamplerModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const StageSettings &stage = m_settings->stages[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return toQString(stageTitle(stage.kind()));
    case KindRole:
        return static_cast<int>(stage.kind());
    case EnabledRole:
        return stage.state == StageSwitch::On;
    case SummaryRole:
        return toQString(stageSummary(stage));
    case ActiveRole:
        return stage.isActive();
    case Qt::AccessibleTextRole:
        return QString(toQString(stageTitle(stage.kind())) + QStringLiteral(", ") +
                       toQString(stageSummary(stage)));
    default:
        return {};
    }
}

bool SamplerModel::setData(const QModelIndex &index, const QVariant &value, int role)
{
    if (role != EnabledRole || !checkIndex(index, CheckIndexOption::IndexIsValid))
        return false;
    StageSettings changed = stage(index.row());
    changed.state = value.toBool() ? StageSwitch::On : StageSwitch::Off;
    setStage(index.row(), changed);
    return true;
}

Qt::ItemFlags SamplerModel::flags(const QModelIndex &index) const
{
    // Drops go between rows, never onto one.
    if (!index.isValid())
        return Qt::ItemIsDropEnabled;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable | Qt::ItemIsDragEnabled;
}

Qt::DropActions SamplerModel::supportedDropActions() const
{
    return Qt::MoveAction;
}

QStringList SamplerModel::mimeTypes() const
{
    return {rowMimeType};
}

QMimeData *SamplerModel::mimeData(const QModelIndexList &indexes) const
{
    if (indexes.isEmpty())
        return nullptr;
    auto *data = new QMimeData; // the drag owns it
    QByteArray bytes;
    QDataStream(&bytes, QIODevice::WriteOnly) << indexes.first().row();
    data->setData(rowMimeType, bytes);
    return data;
}

bool SamplerModel::dropMimeData(const QMimeData *data, Qt::DropAction action, int row, int,
                                const QModelIndex &parent)
{
    if (action != Qt::MoveAction || !data || !data->hasFormat(rowMimeType))
        return false;
    int source = -1;
    QDataStream(data->data(rowMimeType)) >> source;
    const int target = row >= 0 ? row : parent.isValid() ? parent.row() : rowCount();
    moveRows({}, source, 1, {}, target);
    // The row has moved already: false keeps the view from removing the source row a second time.
    return false;
}

bool SamplerModel::moveRows(const QModelIndex &sourceParent, int sourceRow, int count,
                            const QModelIndex &destinationParent, int destinationChild)
{
    if (sourceParent.isValid() || destinationParent.isValid() || count != 1 || sourceRow < 0 ||
        sourceRow >= rowCount() || destinationChild < 0 || destinationChild > rowCount() ||
        !beginMoveRows({}, sourceRow, sourceRow, {}, destinationChild))
        return false;
    SamplerSettings changed = *m_settings;
    const StageSettings moved = changed.stages[static_cast<std::size_t>(sourceRow)];
    changed.stages.erase(changed.stages.begin() + sourceRow);
    changed.stages.insert(changed.stages.begin() +
                              (destinationChild > sourceRow ? destinationChild - 1 : destinationChild),
                          moved);
    replace(std::move(changed));
    endMoveRows();
    Q_EMIT settingsChanged();
    return true;
}

} // namespace tokenloupe
