// SPDX-License-Identifier: GPL-3.0-or-later
// The part of GgufParser that reads the list of tensors and finds their data.
#include "engine/base/utf8.h"
#include "engine/model/ggufparser.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

namespace {

constexpr std::uint32_t maxDimensions = 4;
constexpr auto maxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t &product)
{
    return !__builtin_mul_overflow(a, b, &product);
}

std::string text(std::uint64_t number)
{
    return std::to_string(number);
}

std::string labelOf(const GgufTensor &tensor)
{
    return "tensor " + quotedForMessage(tensor.name);
}

} // namespace

Status GgufParser::parseTensors()
{
    m_file.m_tensors.reserve(static_cast<std::size_t>(m_tensorCount)); // bounded by the bytes that follow
    for (std::uint64_t i = 0; i < m_tensorCount; ++i) {
        auto tensor = parseTensor(i);
        if (!tensor)
            return tl::unexpected(tensor.error());
        if (!m_file.m_tensorIndex.emplace(tensor->name, m_file.m_tensors.size()).second)
            return bad("tensor " + quotedForMessage(tensor->name) + " is there twice");
        m_file.m_tensors.push_back(std::move(*tensor));
    }
    return {};
}

Result<GgufTensor> GgufParser::parseTensor(std::uint64_t number)
{
    const std::string place = "tensor " + text(number + 1) + " of " + text(m_tensorCount);
    const std::uint64_t start = m_cursor.position();
    const auto name = m_cursor.string();
    if (!name)
        return endOfFile("the name of " + place + " (at byte " + text(start) + ")");
    if (name->empty() || name->size() > maxNameBytes)
        return bad(place + ": expected a name of 1 to " + text(maxNameBytes) + " bytes, found " +
                   text(name->size()));
    GgufTensor tensor;
    tensor.name = *name;
    const std::string label = labelOf(tensor);

    const auto dimensions = m_cursor.number<std::uint32_t>();
    if (!dimensions)
        return endOfFile("the dimensions of " + label);
    if (*dimensions > maxDimensions)
        return bad(label + ": expected at most 4 dimensions, found " + text(*dimensions));
    tensor.dimensions = *dimensions;
    for (std::uint32_t i = 0; i < *dimensions; ++i) {
        const auto extent = m_cursor.number<std::uint64_t>();
        if (!extent)
            return endOfFile("the dimensions of " + label);
        if (*extent == 0 || *extent > maxSigned)
            return bad(label + ", dimension " + text(i + 1) + ": expected 1 to 2^63 - 1, found " +
                       text(*extent));
        tensor.shape[i] = *extent;
    }

    const auto typeId = m_cursor.number<std::uint32_t>();
    const auto offset = m_cursor.number<std::uint64_t>();
    if (!typeId || !offset)
        return endOfFile("the type and offset of " + label);
    tensor.offset = *offset;
    if (Status measured = measure(tensor, *typeId); !measured)
        return tl::unexpected(measured.error());
    return tensor;
}

Status GgufParser::measure(GgufTensor &tensor, std::uint32_t typeId) const
{
    const std::string label = labelOf(tensor);
    const TensorTypeTraits *traits = tensorTypeTraits(typeId);
    if (!traits)
        return bad(label + ": its type id " + text(typeId) +
                   " does not exist or was removed from the format");
    tensor.type = static_cast<TensorType>(typeId);

    std::uint64_t elements = 1;
    bool fits = true;
    for (const std::uint64_t extent : tensor.shape)
        fits = fits && multiply(elements, extent, elements);
    fits = fits && elements <= maxSigned;
    if (!fits)
        return bad(label + ": the product of its dimensions does not fit 63 bits");
    if (tensor.shape[0] % traits->blockValues != 0)
        return bad(label + ": expected rows of whole " + traits->name + " blocks (" +
                   text(traits->blockValues) + " values), found rows of " + text(tensor.shape[0]));
    if (!multiply(elements / traits->blockValues, traits->blockBytes, tensor.bytes))
        return bad(label + ": its size in bytes does not fit 64 bits");
    return {};
}

Status GgufParser::placeTensors()
{
    const std::uint64_t size = m_bytes.size();
    const std::uint64_t mask = m_file.m_alignment - 1;
    // Alignment is at most 2^31 and the position at most the file's size: no wrap-around.
    m_file.m_dataOffset = (m_cursor.position() + mask) & ~mask;
    if (m_tensorCount == 0) {
        m_file.m_dataOffset = std::min(m_file.m_dataOffset, size);
        return {};
    }
    if (m_file.m_dataOffset >= size)
        return bad("the file ends before the tensor data: it has " + text(size) +
                   " bytes, the data begins at " + text(m_file.m_dataOffset) + " (alignment " +
                   text(m_file.m_alignment) + ")");
    const std::span<const std::byte> data = m_bytes.subspan(m_file.m_dataOffset);
    for (GgufTensor &tensor : m_file.m_tensors) {
        const std::string label = labelOf(tensor);
        if ((tensor.offset & mask) != 0)
            return bad(label + ": expected an offset that is a multiple of " + text(m_file.m_alignment) +
                       ", found " + text(tensor.offset));
        if (tensor.offset > data.size() || tensor.bytes > data.size() - tensor.offset)
            return bad(label + ": its data (" + text(tensor.bytes) + " bytes at offset " +
                       text(tensor.offset) + ") lies beyond the end of the file (" + text(data.size()) +
                       " bytes of data); the file is damaged or not complete");
        tensor.position = m_file.m_dataOffset + tensor.offset;
        tensor.data = data.subspan(tensor.offset, tensor.bytes);
    }
    return {};
}

Status GgufParser::checkOverlaps() const
{
    std::vector<const GgufTensor *> sorted;
    sorted.reserve(m_file.m_tensors.size());
    for (const GgufTensor &tensor : m_file.m_tensors)
        sorted.push_back(&tensor);
    std::sort(sorted.begin(), sorted.end(),
              [](const GgufTensor *a, const GgufTensor *b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const GgufTensor &before = *sorted[i - 1];
        const GgufTensor &after = *sorted[i];
        if (after.offset < before.offset + before.bytes) // both checked against the file's size
            return bad("tensors " + quotedForMessage(before.name) + " and " + quotedForMessage(after.name) +
                       " overlap: " + text(before.bytes) + " bytes at offset " + text(before.offset) +
                       ", and " + text(after.bytes) + " at " + text(after.offset));
    }
    return {};
}

} // namespace tokenloupe
