// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe::cuda {

/// Whether a kernel may begin early on this thread's device: that can do it, its machine code of `kernel`
/// (and so of all) knows followPrevious(), and $TOKENLOUPE_CUDA_OVERLAP is not 0.
bool canBeginEarly(const void *kernel);

} // namespace tokenloupe::cuda
