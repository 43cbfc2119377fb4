// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "kernels/cuda/cublascalls.h"

#include <memory>
#include <string>
#include <vector>

namespace tokenloupe {

/// cuBLAS, opened when the program runs: it is half a gigabyte that machines without a device do not have,
/// and that the program shall not wait for when it starts. Immutable; any thread.
class CublasLibrary
{
public:
    /// File names in the order in which they are tried: as the system's loader finds them, then beside the
    /// toolkit that the program was built with.
    static std::vector<std::string> usualFiles();
    /// The first of the files that opens. NotFound says for each why it did not, Unsupported which function
    /// is missing.
    static Result<std::shared_ptr<const CublasLibrary>> open(const std::vector<std::string> &files);

    ~CublasLibrary();
    CublasLibrary(const CublasLibrary &) = delete;
    CublasLibrary &operator=(const CublasLibrary &) = delete;

    const cuda::CublasCalls &calls() const { return m_calls; }
    const std::string &file() const { return m_file; }

private:
    CublasLibrary(void *library, std::string file);

    void *m_library;
    std::string m_file;
    cuda::CublasCalls m_calls;
};

} // namespace tokenloupe
