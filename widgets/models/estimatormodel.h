// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorinputs.h"
#include "widgets/models/estimatorresult.h"
#include "widgets/models/latestworker.h"

#include <QObject>
#include <filesystem>
#include <memory>

namespace tokenloupe {

class EngineHost;
struct LoadedModel;
class ShapeReader;

/// The estimator's inputs and what came of them. Lives on the GUI thread; every call returns at once. The
/// computation is done elsewhere: of requests that wait only the newest is worked on.
class EstimatorModel : public QObject
{
    Q_OBJECT

public:
    /// `ownCards`: the file that cards of the user's own are kept in; need not be there.
    EstimatorModel(EngineHost &host, std::filesystem::path ownCards, QObject *parent = nullptr);
    ~EstimatorModel() override;

    const EstimatorInputs &inputs() const { return m_inputs; }
    /// All at once (what was remembered). Shapes are read anew.
    void setInputs(const EstimatorInputs &inputs);
    /// Numbers and types alone; shapes and devices of `request` are not looked at.
    void setRequest(const EstimateRequest &request);

    /// Becomes the subject when it could be read; else failed(), and all stays as it was.
    void chooseModel(const ShapeChoice &choice);
    void chooseDraft(const ShapeChoice &choice);
    QString loadedTitle() const; ///< of the open model; empty: none
    std::shared_ptr<const ModelShape> shape() const { return m_shape; }

    const GpuCatalogue &catalogue() const { return m_catalogue; }
    /// Adds the cards of the user's own; failed() when their file has an error.
    void loadOwnCards();
    void useThisMachine();
    void addDevice(const QString &name); ///< failed() names the nearest ones when there is no such card
    void removeDevice(int row);
    /// Keeps `gpu` as a card of the user's own and puts it in the place of device `row` (-1: adds it).
    Status saveDevice(const Gpu &gpu, int row);

    /// From hold() to release() inputs are taken, but nothing is computed: for as long as nobody looks.
    /// Measuring this machine keeps all its cores and 512 MiB for a moment.
    void hold() { m_isHeld = true; }
    void release();

    EstimatorResultPtr result() const { return m_result; } ///< never null
    bool isBusy() const;                                   ///< something newer than result() is on its way

Q_SIGNALS:
    void inputsChanged();
    void catalogueChanged();
    void resultChanged();
    void failed(const QString &what, const QString &why, const QString &advice);

private:
    struct Job
    {
        std::uint64_t generation = 0;
        EstimateRequest request;
    };
    void followHost();
    void follow(std::shared_ptr<const LoadedModel> model);
    void request();
    void readFailed(const ShapeChoice &choice, const QString &reason);

    EngineHost &m_host;
    std::filesystem::path m_ownCards;
    GpuCatalogue m_catalogue;
    EstimatorInputs m_inputs;
    std::shared_ptr<const LoadedModel> m_loaded;
    VocabularyFacts m_vocabulary; ///< of m_loaded
    std::shared_ptr<const ModelShape> m_shape, m_draftShape;
    EstimatorResultPtr m_result;
    bool m_isHeld = false;
    std::uint64_t m_asked = 0;
    std::uint64_t m_delivered = 0;
    ShapeReader *m_reader = nullptr;
    ShapeReader *m_draftReader = nullptr;
    std::unique_ptr<LatestWorker<Job>> m_worker;
};

} // namespace tokenloupe
