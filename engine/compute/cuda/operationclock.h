// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/operationtimes.h"

#include <cstddef>
#include <cuda_runtime.h>
#include <vector>

namespace tokenloupe {

/// How long a device spends on each operation: an event in the stream wherever the operation changes. What
/// lies between two launches counts to the first one. Events that cannot be had leave times out and change
/// nothing else. Engine thread only.
class OperationClock
{
public:
    OperationClock() = default;
    ~OperationClock();
    OperationClock(const OperationClock &) = delete;
    OperationClock &operator=(const OperationClock &) = delete;

    void turn(Measuring measuring);
    bool isOn() const { return m_isOn; }

    /// What is started on the stream from now on is this operation.
    void begin(Operation operation, cudaStream_t stream);
    /// Nothing that counts comes next.
    void end(cudaStream_t stream);
    /// Adds up what was recorded; the stream has come to its end.
    void settle();
    void forget() { m_marks.clear(); } ///< what was recorded: it will not run
    OperationTimes take();             ///< since the last call, as far as it was settled

private:
    struct Mark
    {
        Operation operation = Operation::Copy;
        bool isEnd = false;
    };
    void mark(Mark mark, cudaStream_t stream);

    std::vector<cudaEvent_t> m_events; ///< [i] belongs to m_marks[i]; more than those are kept for later
    std::vector<Mark> m_marks;
    OperationTimes m_times;
    bool m_isOn = false;
};

} // namespace tokenloupe
