// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/shapereader.h"

#include "widgets/models/modeltitle.h"

#include <QFileInfo>
#include <QMetaObject>

namespace tokenloupe {

namespace {

using ShapePtr = std::shared_ptr<const ModelShape>;

Result<ShapePtr> readShape(const ShapeChoice &choice, const LoadedModel *loaded)
{
    Result<ModelShape> shape;
    switch (choice.origin) {
    case ShapeOrigin::None:
        return ShapePtr();
    case ShapeOrigin::Loaded:
        if (!loaded)
            return ShapePtr();
        shape = shapeOfContainer(loaded->model->container());
        if (shape)
            shape->name = modelTitle(*loaded->model).toStdString();
        break;
    case ShapeOrigin::File:
        shape = readModelShape(choice.name.toStdString());
        // a name inside a file is often that of a training run; a config.json's folder says more than it does
        if (shape && choice.name.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive))
            shape->name = modelTitle(choice.name).toStdString();
        else if (shape && QFileInfo(choice.name).fileName() == QLatin1String("config.json"))
            shape->name = QFileInfo(QFileInfo(choice.name).path()).fileName().toStdString();
        break;
    case ShapeOrigin::BuiltIn:
        shape = builtInShape(choice.name.toStdString());
        break;
    }
    if (!shape)
        return tl::unexpected<Error>(shape.error());
    return std::make_shared<const ModelShape>(std::move(*shape));
}

} // namespace

ShapeReader::ShapeReader(QObject *parent)
    : QObject(parent)
    , m_worker(std::make_unique<LatestWorker<Job>>([this](Job &job) { work(job); }))
{}

ShapeReader::~ShapeReader() = default;

void ShapeReader::read(const ShapeChoice &choice, std::shared_ptr<const LoadedModel> loaded)
{
    m_worker->post({++m_asked, choice, std::move(loaded)});
}

void ShapeReader::work(const Job &job)
{
    const Result<ShapePtr> shape = readShape(job.choice, job.loaded.get());
    QMetaObject::invokeMethod(
        this,
        [this, generation = job.generation, choice = job.choice, shape] {
            if (generation != m_asked)
                return; // something newer was asked for
            m_delivered = generation;
            if (shape)
                Q_EMIT finished(choice, *shape);
            else
                Q_EMIT failed(choice, QString::fromStdString(shape.error().text()));
        },
        Qt::QueuedConnection);
}

} // namespace tokenloupe
