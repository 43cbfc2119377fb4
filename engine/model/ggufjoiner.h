// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/gguffile.h"

#include <optional>

namespace tokenloupe {

/// Opens all parts of a split GGUF file and makes one of them. Used once, by GgufFile::openWhole().
class GgufJoiner
{
public:
    /// `given` is any of the parts, which lie beside each other.
    GgufJoiner(std::shared_ptr<const GgufFile> given, std::filesystem::path path);

    Result<std::shared_ptr<const GgufFile>> join();

private:
    /// Where part `number` (from 0) lies, by the given one's name; nothing when that has no such form.
    std::optional<std::filesystem::path> pathOf(std::uint64_t number) const;
    Status openParts();
    Status checkPart(const GgufFile &part, std::uint64_t number) const;
    Status addTensors(const GgufFile &part, std::uint32_t number);
    Status checkTensorCount() const;

    std::shared_ptr<const GgufFile> m_given;
    std::filesystem::path m_path;
    std::uint64_t m_count = 0; ///< of parts
    std::shared_ptr<GgufFile> m_whole;
};

} // namespace tokenloupe
