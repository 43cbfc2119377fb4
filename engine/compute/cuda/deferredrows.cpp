// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/deferredrows.h"

#include "kernels/cuda/products.h"

#include <utility>

namespace tokenloupe {

namespace {

bool isSame(const cuda::DeviceRows &a, const cuda::DeviceRows &b)
{
    return a.data == b.data && a.rows == b.rows && a.columns == b.columns && a.stride == b.stride;
}

bool turnAlike(const DeferredRows::Rotation &a, const DeferredRows::Rotation &b)
{
    return a.rows.rows == b.rows.rows && a.headSize == b.headSize && a.state == b.state &&
           a.rotary.pairs == b.rotary.pairs && a.rotary.rotated == b.rotary.rotated &&
           a.rotary.inverseFrequencies == b.rotary.inverseFrequencies &&
           a.rotary.magnitude == b.rotary.magnitude;
}

} // namespace

cudaError_t DeferredRows::start(const Sum &sum)
{
    m_queue.count(Operation::Norm);
    return cuda::addRows(sum.input, sum.target, m_queue.stream());
}

cudaError_t DeferredRows::start(const Norm &norm, const cuda::QuantizedRows &planes)
{
    m_queue.count(Operation::Norm);
    return cuda::normRows(norm.input, norm.addend, norm.params, norm.output, planes, m_queue.stream());
}

cudaError_t DeferredRows::start(const Activated &activated, const cuda::QuantizedRows &planes)
{
    m_queue.count(Operation::Activation);
    return cuda::activateRows(activated.activation, activated.gate, activated.up, activated.output, planes,
                              m_queue.stream());
}

cudaError_t DeferredRows::start(const Rotations &rotations)
{
    m_queue.count(Operation::RotaryStore);
    const Rotation &first = rotations.first;
    const cuda::DeviceRows second = rotations.second ? rotations.second->rows : cuda::DeviceRows();
    return cuda::rotateRows(first.rows, first.headSize, second, first.rotary, first.state, m_queue.stream());
}

cudaError_t DeferredRows::start(const Attention &attention, const cuda::QuantizedRows &planes)
{
    m_queue.count(Operation::Attention);
    return cuda::joinStretches(attention.queries, attention.view, attention.shape, attention.state,
                               attention.scratch, attention.output, planes, m_queue.stream());
}

Status DeferredRows::flush()
{
    if (std::holds_alternative<std::monostate>(m_waiting))
        return {};
    const auto waiting = std::exchange(m_waiting, {});
    return m_queue.check(std::visit([this](const auto &operation) { return start(operation); }, waiting),
                         "start an operation on rows");
}

Status DeferredRows::add(cuda::DeviceRows input, cuda::DeviceRows target)
{
    Status flushed = flush();
    m_waiting = Sum{input, target};
    return flushed;
}

Status DeferredRows::norm(cuda::DeviceRows input, const cuda::RowNormParams &params, cuda::DeviceRows output)
{
    const Sum *sum = std::get_if<Sum>(&m_waiting);
    if (sum && isSame(sum->target, input)) {
        m_waiting = Norm{input, sum->input, params, output};
        return {};
    }
    Status flushed = flush();
    m_waiting = Norm{input, {}, params, output};
    return flushed;
}

Status DeferredRows::activate(cuda::RowActivation activation, cuda::DeviceRows gate, cuda::DeviceRows up,
                              cuda::DeviceRows output)
{
    Status flushed = flush();
    m_waiting = Activated{activation, gate, up, output};
    return flushed;
}

Status DeferredRows::rotate(const Rotation &rotation)
{
    auto *waiting = std::get_if<Rotations>(&m_waiting);
    if (waiting && !waiting->second && turnAlike(waiting->first, rotation)) {
        waiting->second = rotation;
        return {};
    }
    Status flushed = flush();
    m_waiting = Rotations{rotation, {}};
    return flushed;
}

Status DeferredRows::attend(const Attention &attention)
{
    Status flushed = flush();
    m_waiting = attention;
    return flushed;
}

Status DeferredRows::quantize(cuda::DeviceRows rows, const cuda::QuantizedRows &planes)
{
    const auto *norm = std::get_if<Norm>(&m_waiting);
    const auto *activated = std::get_if<Activated>(&m_waiting);
    const auto *attention = std::get_if<Attention>(&m_waiting);
    cudaError_t started = cudaSuccess;
    if (norm && isSame(norm->output, rows)) {
        started = start(*norm, planes);
    } else if (activated && isSame(activated->output, rows)) {
        started = start(*activated, planes);
    } else if (attention && isSame(attention->output, rows)) {
        started = start(*attention, planes);
    } else {
        if (Status flushed = flush(); !flushed)
            return flushed;
        m_queue.count(Operation::Product);
        started = cuda::quantizeRows(rows, planes, m_queue.stream());
    }
    m_waiting = {};
    return m_queue.check(started, "round activations");
}

Status DeferredRows::store(cuda::DeviceRows keys, cuda::DeviceRows values, const cuda::KvLayerView &view,
                           const cuda::StepState *state)
{
    auto *waiting = std::get_if<Rotations>(&m_waiting);
    const bool isSmall = keys.rows <= cuda::largestDecodeRows;
    if (waiting && waiting->second && isSmall) {
        const bool keysAreFirst = isSame(waiting->first.rows, keys);
        const Rotation turned = keysAreFirst ? waiting->first : *waiting->second;
        const Rotation other = keysAreFirst ? *waiting->second : waiting->first;
        if (isSame(turned.rows, keys) && turned.state == state && turned.headSize == view.keySize) {
            m_waiting = {};
            m_queue.count(Operation::RotaryStore);
            return m_queue.check(cuda::rotateAndStore(other.rows, other.headSize, keys, values, turned.rotary,
                                                      view, state, m_queue.stream()),
                                 "rotate and store keys and values");
        }
    }
    if (Status flushed = flush(); !flushed)
        return flushed;
    m_queue.count(Operation::RotaryStore);
    return m_queue.check(cuda::storeRows(keys, values, view, state, m_queue.stream()),
                         "store keys and values");
}

} // namespace tokenloupe
