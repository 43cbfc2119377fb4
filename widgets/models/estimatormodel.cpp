// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/estimatormodel.h"

#include "widgets/models/enginehost.h"
#include "widgets/models/modeltitle.h"
#include "widgets/models/shapereader.h"

#include <QFileInfo>
#include <QMetaObject>
#include <algorithm>
#include <utility>

namespace tokenloupe {

EstimatorModel::EstimatorModel(EngineHost &host, std::filesystem::path ownCards, QObject *parent)
    : QObject(parent)
    , m_host(host)
    , m_ownCards(std::move(ownCards))
    , m_result(std::make_shared<EstimatorResult>())
{
    if (auto builtIn = GpuCatalogue::builtIn())
        m_catalogue = std::move(*builtIn);
    m_reader = new ShapeReader(this);
    m_draftReader = new ShapeReader(this);
    m_worker = std::make_unique<LatestWorker<Job>>([this](Job &job) {
        EstimatorResultPtr result = computeEstimate(std::move(job.request));
        QMetaObject::invokeMethod(
            this,
            [this, generation = job.generation, result = std::move(result)] {
                m_delivered = generation;
                m_result = result;
                Q_EMIT resultChanged();
            },
            Qt::QueuedConnection);
    });
    connect(m_reader, &ShapeReader::finished, this, [this](const ShapeChoice &choice, const auto &shape) {
        m_inputs.model = choice;
        m_shape = shape;
        Q_EMIT inputsChanged();
        request();
    });
    connect(m_draftReader, &ShapeReader::finished, this,
            [this](const ShapeChoice &choice, const auto &shape) {
                m_inputs.draft = choice;
                m_draftShape = shape;
                Q_EMIT inputsChanged();
                request();
            });
    connect(m_reader, &ShapeReader::failed, this, &EstimatorModel::readFailed);
    connect(m_draftReader, &ShapeReader::failed, this, &EstimatorModel::readFailed);
    connect(&host, &EngineHost::statusChanged, this, &EstimatorModel::followHost);
    follow(host.status().model);
}

EstimatorModel::~EstimatorModel() = default;

void EstimatorModel::loadOwnCards()
{
    std::error_code ignored;
    if (!std::filesystem::exists(m_ownCards, ignored))
        return;
    if (const Status added = m_catalogue.addFile(m_ownCards); !added)
        Q_EMIT failed(tr("Your own cards could not be read"), QString::fromStdString(added.error().text()),
                      tr("Correct the file or delete it; the built-in cards are there."));
    Q_EMIT catalogueChanged();
}

bool EstimatorModel::isBusy() const
{
    return m_delivered != m_asked || m_reader->isReading() || m_draftReader->isReading();
}

QString EstimatorModel::loadedTitle() const
{
    return m_loaded ? modelTitle(*m_loaded->model) : QString();
}

void EstimatorModel::follow(std::shared_ptr<const LoadedModel> model)
{
    m_loaded = std::move(model);
    m_vocabulary = m_loaded ? vocabularyFacts(*m_loaded->model) : VocabularyFacts();
}

void EstimatorModel::followHost()
{
    if (m_host.status().model == m_loaded)
        return;
    follow(m_host.status().model);
    if (m_inputs.model.origin == ShapeOrigin::Loaded)
        m_reader->read(m_inputs.model, m_loaded);
    Q_EMIT inputsChanged(); // the loaded model's name is among what can be chosen
}

void EstimatorModel::setInputs(const EstimatorInputs &inputs)
{
    m_inputs = inputs;
    m_reader->read(inputs.model, m_loaded);
    m_draftReader->read(inputs.draft, m_loaded);
    Q_EMIT inputsChanged();
}

void EstimatorModel::setRequest(const EstimateRequest &newRequest)
{
    EstimateRequest merged = newRequest;
    merged.devices = m_inputs.request.devices;
    merged.target = m_inputs.request.target;
    m_inputs.request = std::move(merged);
    Q_EMIT inputsChanged();
    request();
}

void EstimatorModel::chooseModel(const ShapeChoice &choice)
{
    m_reader->read(choice, m_loaded);
}

void EstimatorModel::chooseDraft(const ShapeChoice &choice)
{
    m_draftReader->read(choice, m_loaded);
}

void EstimatorModel::readFailed(const ShapeChoice &choice, const QString &reason)
{
    const QString name = choice.origin == ShapeOrigin::Loaded ? loadedTitle()
                         : choice.origin == ShapeOrigin::File ? QFileInfo(choice.name).fileName()
                                                              : choice.name;
    Q_EMIT failed(tr("The sizes of %1 could not be read").arg(name), reason,
                  tr("Choose a GGUF file, a config.json or one of the built-in shapes. "
                     "The inputs are as they were."));
    Q_EMIT inputsChanged(); // whoever shows the choice goes back to what holds
    // what was remembered from the last start may be gone: the loaded model is always there to go on with
    if (!m_shape && choice == m_inputs.model && choice.origin != ShapeOrigin::Loaded)
        chooseModel({ShapeOrigin::Loaded, {}});
}

void EstimatorModel::useThisMachine()
{
    m_inputs.request.target = EstimateTarget::ThisProgram;
    m_inputs.request.devices.clear();
    Q_EMIT inputsChanged();
    request();
}

void EstimatorModel::addDevice(const QString &name)
{
    const Result<Gpu> gpu = m_catalogue.find(name.toStdString());
    if (!gpu) {
        Q_EMIT failed(tr("There is no card “%1” in the catalogue").arg(name),
                      QString::fromStdString(gpu.error().text()),
                      tr("Pick one from the list, or make one of your own with Edit."));
        return;
    }
    m_inputs.request.target = EstimateTarget::Gpu;
    m_inputs.request.devices.push_back(*gpu);
    Q_EMIT inputsChanged();
    request();
}

void EstimatorModel::removeDevice(int row)
{
    std::vector<Gpu> &devices = m_inputs.request.devices;
    if (row < 0 || static_cast<std::size_t>(row) >= devices.size())
        return;
    devices.erase(devices.begin() + row);
    if (devices.empty())
        m_inputs.request.target = EstimateTarget::ThisProgram;
    Q_EMIT inputsChanged();
    request();
}

Status EstimatorModel::saveDevice(const Gpu &gpu, int row)
{
    GpuCatalogue catalogue = m_catalogue;
    if (Status added = catalogue.add(gpu); !added)
        return added;
    std::error_code ignored; // save() says what is wrong with the folder
    std::filesystem::create_directories(m_ownCards.parent_path(), ignored);
    if (Status saved = catalogue.save(m_ownCards); !saved)
        return saved;
    m_catalogue = std::move(catalogue);
    Q_EMIT catalogueChanged();
    std::vector<Gpu> &devices = m_inputs.request.devices;
    if (row >= 0 && static_cast<std::size_t>(row) < devices.size())
        devices[static_cast<std::size_t>(row)] = gpu;
    else
        devices.push_back(gpu);
    m_inputs.request.target = EstimateTarget::Gpu;
    Q_EMIT inputsChanged();
    request();
    return {};
}

void EstimatorModel::release()
{
    if (std::exchange(m_isHeld, false) && m_delivered != m_asked)
        request();
}

void EstimatorModel::request()
{
    Job job{++m_asked, m_inputs.request};
    if (m_isHeld)
        return;
    job.request.shape = m_shape;
    job.request.draft = m_draftShape;
    if (job.request.target == EstimateTarget::ThisProgram) {
        const EngineStatus &status = m_host.status();
        job.request.traceBytes = status.session.logitBudgetBytes;
        job.request.threads = static_cast<std::uint32_t>(std::max(1, status.threads));
        job.request.programBytes = status.programBytes;
        if (m_loaded && m_inputs.model.origin == ShapeOrigin::Loaded) {
            job.request.config = m_loaded->config();
            job.request.vocabulary = m_vocabulary;
        }
    }
    m_worker->post(std::move(job));
}

} // namespace tokenloupe
