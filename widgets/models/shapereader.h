// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/loadedmodel.h"
#include "widgets/models/estimatorinputs.h"
#include "widgets/models/latestworker.h"

#include <QObject>
#include <memory>

namespace tokenloupe {

/// Reads a model's sizes from wherever they are on a thread of its own, so that a slow disk holds nobody up.
/// A newer choice replaces a waiting one, and what an older one brought is dropped.
class ShapeReader : public QObject
{
    Q_OBJECT

public:
    explicit ShapeReader(QObject *parent = nullptr);
    ~ShapeReader() override;

    /// `loaded` is for ShapeOrigin::Loaded; null: there is none, which is no error.
    void read(const ShapeChoice &choice, std::shared_ptr<const LoadedModel> loaded);
    bool isReading() const { return m_delivered != m_asked; }

Q_SIGNALS:
    void finished(const ShapeChoice &choice, std::shared_ptr<const ModelShape> shape);
    void failed(const ShapeChoice &choice, const QString &reason);

private:
    struct Job
    {
        std::uint64_t generation = 0;
        ShapeChoice choice;
        std::shared_ptr<const LoadedModel> loaded;
    };
    void work(const Job &job); ///< on the worker's thread

    std::uint64_t m_asked = 0;
    std::uint64_t m_delivered = 0;
    std::unique_ptr<LatestWorker<Job>> m_worker;
};

} // namespace tokenloupe
