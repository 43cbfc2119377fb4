// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufjoiner.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <cstdio>

namespace tokenloupe {

namespace {

constexpr std::uint64_t mostParts = 99999; // what five digits can number

/// "-00002-of-00003.gguf" for part 1.
std::string ending(std::uint64_t number, std::uint64_t count)
{
    char text[48];
    std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(number + 1),
                  static_cast<unsigned long long>(count));
    return text;
}

tl::unexpected<Error> wrongKey(const GgufFile &file, const char *key, const std::string &message)
{
    return makeError(ErrorCode::BadFile, "read " + file.name(),
                     std::string("key \"") + key + "\": " + message);
}

} // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::openWhole(const std::filesystem::path &path)
{
    auto file = open(path);
    if (!file || !(*file)->find("split.count"))
        return file;
    const auto count = (*file)->unsignedValue("split.count");
    if (!count)
        return tl::unexpected(count.error());
    if (*count <= 1)
        return file;
    return GgufJoiner(std::move(*file), path).join();
}

std::uint64_t GgufFile::headerBytes() const
{
    std::uint64_t sum = m_parts.empty() ? m_dataOffset : 0;
    for (const auto &part : m_parts)
        sum += part->m_dataOffset;
    return sum;
}

void GgufFile::releasePages(std::span<const std::byte> range) const
{
    if (m_mapping)
        m_mapping->releasePages(range);
    for (const auto &part : m_parts)
        part->releasePages(range);
}

GgufJoiner::GgufJoiner(std::shared_ptr<const GgufFile> given, std::filesystem::path path)
    : m_given(std::move(given))
    , m_path(std::move(path))
    , m_whole(new GgufFile)
{}

Result<std::shared_ptr<const GgufFile>> GgufJoiner::join()
{
    if (Status opened = openParts(); !opened)
        return tl::unexpected(opened.error());
    const GgufFile &first = *m_whole->m_parts.front();
    m_whole->m_name = first.m_name;
    m_whole->m_version = first.m_version;
    m_whole->m_alignment = first.m_alignment;
    m_whole->m_dataOffset = first.m_dataOffset;
    m_whole->m_metadata = first.m_metadata;
    m_whole->m_keyOrder = first.m_keyOrder;
    std::uint32_t number = 0;
    for (const auto &part : m_whole->m_parts) {
        m_whole->m_partNames.push_back(part->m_name);
        if (Status added = addTensors(*part, number++); !added)
            return tl::unexpected(added.error());
    }
    if (Status counted = checkTensorCount(); !counted)
        return tl::unexpected(counted.error());
    return m_whole;
}

std::optional<std::filesystem::path> GgufJoiner::pathOf(std::uint64_t number) const
{
    const std::string name = m_path.filename().native();
    const std::uint64_t given = m_given->unsignedValue("split.no").value_or(0);
    const std::string own = ending(given, m_count);
    if (!name.ends_with(own))
        return {};
    return m_path.parent_path() / (name.substr(0, name.size() - own.size()) + ending(number, m_count));
}

Status GgufJoiner::openParts()
{
    const auto count = m_given->unsignedValue("split.count");
    if (!count)
        return tl::unexpected(count.error());
    m_count = *count;
    const auto given = m_given->unsignedValue("split.no");
    if (!given)
        return tl::unexpected(given.error());
    if (m_count > mostParts || *given >= m_count)
        return wrongKey(*m_given, m_count > mostParts ? "split.count" : "split.no",
                        "expected a part below " + std::to_string(std::min(m_count, mostParts)) + ", found " +
                            std::to_string(*given) + " of " + std::to_string(m_count));
    for (std::uint64_t number = 0; number < m_count; ++number) {
        const auto path = pathOf(number);
        if (!path)
            return wrongKey(*m_given, "split.no",
                            "this is part " + std::to_string(*given + 1) + " of " + std::to_string(m_count) +
                                ", so a file name is expected that ends in " + ending(*given, m_count));
        auto part = number == *given ? m_given : nullptr;
        if (!part) {
            auto opened = GgufFile::open(*path);
            if (!opened)
                return makeError(opened.error().code, opened.error().operation,
                                 "part " + std::to_string(number + 1) + " of " + std::to_string(m_count) +
                                     " of the model: " + opened.error().message);
            part = std::move(*opened);
        }
        if (Status good = checkPart(*part, number); !good)
            return good;
        m_whole->m_parts.push_back(std::move(part));
    }
    return {};
}

Status GgufJoiner::checkPart(const GgufFile &part, std::uint64_t number) const
{
    const auto count = part.unsignedValue("split.count");
    if (!count)
        return tl::unexpected(count.error());
    if (*count != m_count)
        return wrongKey(part, "split.count",
                        "expected " + std::to_string(m_count) + " as in " + m_given->name() + ", found " +
                            std::to_string(*count));
    const auto own = part.unsignedValue("split.no");
    if (!own)
        return tl::unexpected(own.error());
    if (*own != number)
        return wrongKey(part, "split.no",
                        "expected " + std::to_string(number) + ", by the file's name, found " +
                            std::to_string(*own));
    return {};
}

Status GgufJoiner::addTensors(const GgufFile &part, std::uint32_t number)
{
    for (GgufTensor tensor : part.tensors()) {
        tensor.part = number;
        if (!m_whole->m_tensorIndex.emplace(tensor.name, m_whole->m_tensors.size()).second)
            return makeError(ErrorCode::BadFile, "read " + part.name(),
                             "tensor " + quotedForMessage(tensor.name) + " is in another part too");
        m_whole->m_tensors.push_back(std::move(tensor));
    }
    return {};
}

/// Older writers put the number into the first part only, others into all.
Status GgufJoiner::checkTensorCount() const
{
    for (const auto &part : m_whole->m_parts) {
        if (!part->find("split.tensors.count"))
            continue;
        const auto stated = part->unsignedValue("split.tensors.count");
        if (!stated)
            return tl::unexpected(stated.error());
        if (*stated != m_whole->m_tensors.size())
            return wrongKey(*part, "split.tensors.count",
                            "expected the " + std::to_string(m_whole->m_tensors.size()) +
                                " tensors of all parts, found " + std::to_string(*stated));
    }
    return {};
}

} // namespace tokenloupe
