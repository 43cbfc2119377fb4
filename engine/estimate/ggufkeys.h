// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/gguffile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Reads the keys of one architecture out of a GGUF header. The first error stays; later reads give their
/// fallback or the lowest allowed number.
class GgufKeys
{
public:
    GgufKeys(const GgufFile &file, std::string architecture);

    bool has(std::string_view key) const { return m_file.find(full(key)) != nullptr; }
    /// Between `lowest` and `highest`. Missing: `fallback`, or an error where there is none.
    std::uint64_t number(std::string_view key, std::uint64_t lowest, std::uint64_t highest,
                         std::optional<std::uint64_t> fallback = {});
    /// One number for each of `layers` layers, from one for all or from a list.
    std::vector<std::uint64_t> perLayer(std::string_view key, std::uint64_t lowest, std::uint64_t highest,
                                        std::uint64_t layers, std::uint64_t fallback);
    void fail(std::string_view key, const std::string &message);
    const Status &status() const { return m_status; }
    bool ok() const { return m_status.has_value(); }

private:
    std::string full(std::string_view key) const { return m_architecture + "." + std::string(key); }
    std::uint64_t checked(std::string_view key, std::int64_t value, std::uint64_t lowest,
                          std::uint64_t highest);
    const GgufArray *array(std::string_view key) const;

    const GgufFile &m_file;
    std::string m_architecture;
    Status m_status;
};

} // namespace tokenloupe
