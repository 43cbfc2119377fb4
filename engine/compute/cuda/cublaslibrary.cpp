// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cublaslibrary.h"

#include <array>
#include <dlfcn.h>

namespace tokenloupe {

namespace {

#ifndef TOKENLOUPE_CUDAHOST

constexpr const char *operation = "open cuBLAS";

/// Newest first; both have the functions that are used.
constexpr std::array<const char *, 2> fileNames = {"libcublas.so.13", "libcublas.so.12"};

/// Sets `function` to what the library calls `name`; false where it has none.
template <class Function>
bool find(void *library, const char *name, Function &function)
{
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

/// The first function that is missing; nullptr: all are there.
const char *missingFunction(void *library, cuda::CublasCalls &calls)
{
    if (!find(library, "cublasCreate_v2", calls.create))
        return "cublasCreate_v2";
    if (!find(library, "cublasDestroy_v2", calls.destroy))
        return "cublasDestroy_v2";
    if (!find(library, "cublasSetStream_v2", calls.setStream))
        return "cublasSetStream_v2";
    if (!find(library, "cublasSetWorkspace_v2", calls.setWorkspace))
        return "cublasSetWorkspace_v2";
    if (!find(library, "cublasGemmEx", calls.gemmEx))
        return "cublasGemmEx";
    return nullptr;
}

#endif

} // namespace

CublasLibrary::CublasLibrary(void *library, std::string file)
    : m_library(library)
    , m_file(std::move(file))
{}

CublasLibrary::~CublasLibrary()
{
    if (m_library)
        ::dlclose(m_library);
}

#ifdef TOKENLOUPE_CUDAHOST

std::vector<std::string> CublasLibrary::usualFiles()
{
    return {};
}

Result<std::shared_ptr<const CublasLibrary>> CublasLibrary::open(const std::vector<std::string> &)
{
    std::shared_ptr<CublasLibrary> library(new CublasLibrary(nullptr, "on the host"));
    library->m_calls.create = cublasCreate;
    library->m_calls.destroy = cublasDestroy;
    library->m_calls.setStream = cublasSetStream;
    library->m_calls.setWorkspace = cublasSetWorkspace;
    library->m_calls.gemmEx = cublasGemmEx;
    return library;
}

#else

std::vector<std::string> CublasLibrary::usualFiles()
{
    std::vector<std::string> files(fileNames.begin(), fileNames.end());
#ifdef TOKENLOUPE_CUBLAS_FOLDER
    for (const char *name : fileNames)
        files.push_back(std::string(TOKENLOUPE_CUBLAS_FOLDER) + "/" + name);
#endif
    return files;
}

Result<std::shared_ptr<const CublasLibrary>> CublasLibrary::open(const std::vector<std::string> &files)
{
    std::string reasons;
    for (const std::string &file : files) {
        // note: all symbols at once, so that a library that lacks a part of its own does not fail later.
        void *handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *reason = ::dlerror();
            reasons += (reasons.empty() ? "" : "; ") + (reason ? std::string(reason) : file);
            continue;
        }
        std::shared_ptr<CublasLibrary> library(new CublasLibrary(handle, file));
        if (const char *missing = missingFunction(handle, library->m_calls))
            return makeError(ErrorCode::Unsupported, operation, file + " has no " + missing);
        return library;
    }
    return makeError(ErrorCode::NotFound, operation, reasons);
}

#endif

} // namespace tokenloupe
