// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/bytecursor.h"
#include "engine/model/gguffile.h"

namespace tokenloupe {

/// Reads the header, the keys and the list of tensors of a GGUF file into a GgufFile. Used once, by
/// GgufFile::open() and parse().
class GgufParser
{
public:
    GgufParser(std::span<const std::byte> bytes, GgufFile &file);

    Status parse();

private:
    static constexpr std::uint64_t maxNameBytes = 65535; // the format's own limit for keys

    Status parseHeader();
    Status parseKeys();
    Status parseKey();
    Result<GgufValue> parseValue(const std::string &key, GgufType type);
    Result<GgufArray> parseArray(const std::string &key, std::uint32_t depth);
    Status readAlignment();

    // The list of tensors: gguftensorlist.cpp
    Status parseTensors();
    Result<GgufTensor> parseTensor(std::uint64_t number);
    Status measure(GgufTensor &tensor, std::uint32_t typeId) const;
    Status placeTensors();
    Status checkOverlaps() const;

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;
    tl::unexpected<Error> endOfFile(const std::string &what) const;

    std::span<const std::byte> m_bytes;
    ByteCursor m_cursor;
    GgufFile &m_file;
    std::uint64_t m_keyCount = 0;
    std::uint64_t m_tensorCount = 0;
};

} // namespace tokenloupe
