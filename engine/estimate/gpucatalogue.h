// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A card, or a machine whose processor computes.
struct Gpu
{
    std::string name;  ///< "RTX 4090"
    std::string maker; ///< "NVIDIA"
    std::string kind;  ///< "desktop", "laptop", "workstation", "data centre", "integrated", "this machine"
    std::uint64_t memoryBytes = 0;
    double bandwidth = 0.0; ///< bytes/s of its memory
    double halfFlops = 0.0; ///< dense half-precision matrix products, multiply and add counted as two
    std::uint32_t year = 0;
    bool isShared = false; ///< memory is the system's (integrated, Apple silicon)
};

/// Cards by name. Starts from the built-in list; a file of the user's own (same keys) adds and replaces.
class GpuCatalogue
{
public:
    static Result<GpuCatalogue> builtIn();
    /// BadFile names the row and the field. Nothing is taken over from a file with an error.
    Status addFile(const std::filesystem::path &path);
    Status add(Gpu gpu); ///< replaces one of the same name; absurd numbers are InvalidArgument
    Status save(const std::filesystem::path &path) const; ///< what was added, for addFile()

    const std::vector<Gpu> &gpus() const { return m_gpus; }
    /// Case, spaces and a maker's name do not matter; NotFound names the nearest ones.
    Result<Gpu> find(std::string_view name) const;

private:
    std::vector<Gpu> m_gpus;
    std::vector<std::string> m_added;
};

/// The processor and memory of the machine that this runs on: memory installed, bandwidth and matrix rate
/// measured once in a fraction of a second and kept for the process.
Gpu thisMachine();

} // namespace tokenloupe
