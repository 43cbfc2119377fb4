// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"

#include <QAbstractListModel>
#include <memory>

namespace tokenloupe {

enum class SeedMode : bool { Random, Fixed };

/// The sampler chain being edited: one row a stage, in order; rows can be moved by drag. Every change makes a
/// new immutable settings value and emits settingsChanged() once.
class SamplerModel : public QAbstractListModel
{
    Q_OBJECT

public:
    enum Role { KindRole = Qt::UserRole, EnabledRole, SummaryRole, ActiveRole };

    explicit SamplerModel(QObject *parent = nullptr);

    std::shared_ptr<const SamplerSettings> settings() const { return m_settings; }
    void setSettings(const SamplerSettings &settings);
    void setStage(int row, const StageSettings &stage); ///< invalid parameters are refused: stageRejected()
    void setSeed(std::uint64_t seed);
    StageSettings stage(int row) const;
    /// Random: each reply draws a seed of its own; Fixed: all use settings()->seed.
    SeedMode seedMode() const { return m_seedMode; }
    void setSeedMode(SeedMode mode);

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    bool setData(const QModelIndex &index, const QVariant &value, int role) override; ///< EnabledRole
    Qt::ItemFlags flags(const QModelIndex &index) const override;
    Qt::DropActions supportedDropActions() const override;
    QStringList mimeTypes() const override;
    QMimeData *mimeData(const QModelIndexList &indexes) const override;
    bool dropMimeData(const QMimeData *data, Qt::DropAction action, int row, int column,
                      const QModelIndex &parent) override;
    bool moveRows(const QModelIndex &sourceParent, int sourceRow, int count,
                  const QModelIndex &destinationParent, int destinationChild) override;

Q_SIGNALS:
    void settingsChanged();
    void stageRejected(int row, const QString &message);

private:
    void replace(SamplerSettings settings);
    std::shared_ptr<const SamplerSettings> m_settings;
    SeedMode m_seedMode = SeedMode::Random;
};

} // namespace tokenloupe
