// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/safetensorsfile.h"

#include "engine/base/checkedmath.h"
#include "engine/base/utf8.h"
#include "engine/model/hf/safetensorsheader.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

namespace tokenloupe {

namespace {

constexpr std::uint64_t lengthBytes = 8;
constexpr std::uint64_t mostHeaderBytes = 100'000'000; // what the format's own reader takes

constexpr SafetensorsType types[] = {
    {"F64", 64, TensorType::F64},
    {"F32", 32, TensorType::F32},
    {"F16", 16, TensorType::F16},
    {"BF16", 16, TensorType::BF16},
    {"I64", 64, TensorType::I64},
    {"I32", 32, TensorType::I32},
    {"I16", 16, TensorType::I16},
    {"I8", 8, TensorType::I8},
    {"U64", 64, {}},
    {"U32", 32, {}},
    {"U16", 16, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"C64", 64, {}},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
};

std::string text(std::uint64_t number)
{
    return std::to_string(number);
}

/// Bytes of a tensor by its type and shape; not valid where they cannot be counted or are no whole bytes.
CheckedSize bytesOf(const SafetensorsTensor &tensor)
{
    CheckedSize elements(1);
    for (const std::uint64_t extent : tensor.shape)
        elements *= CheckedSize(extent);
    const CheckedSize bits = elements * tensor.type->bits;
    return bits.isValid() && bits.value() % 8 == 0 ? CheckedSize(bits.value() / 8)
                                                   : CheckedSize(CheckedSize::limit + 1);
}

} // namespace

const SafetensorsType *safetensorsType(std::string_view name)
{
    const auto found = std::find_if(std::begin(types), std::end(types),
                                    [name](const SafetensorsType &type) { return type.name == name; });
    return found == std::end(types) ? nullptr : found;
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(const std::filesystem::path &path)
{
    auto mapping = MappedFile::open(path);
    if (!mapping)
        return tl::unexpected(mapping.error());
    std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
    file->m_name = sanitizedUtf8(path.filename().native());
    file->m_mapping = std::move(*mapping);
    if (Status read = file->read(file->m_mapping->bytes()); !read)
        return tl::unexpected(read.error());
    return file;
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                                                      std::string name)
{
    std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
    file->m_name = std::move(name);
    if (Status read = file->read(bytes); !read)
        return tl::unexpected(read.error());
    return file;
}

Status SafetensorsFile::read(std::span<const std::byte> bytes)
{
    const auto bad = [this](std::string message) {
        return makeError(ErrorCode::BadFile, "read " + m_name, std::move(message));
    };
    std::uint64_t header = 0;
    if (bytes.size() < lengthBytes)
        return bad("the file ends inside the length of its header: it has " + text(bytes.size()) + " bytes");
    std::memcpy(&header, bytes.data(), lengthBytes);
    const std::uint64_t rest = bytes.size() - lengthBytes;
    if (header > mostHeaderBytes || header > rest)
        return bad("expected a header of at most " + text(std::min(mostHeaderBytes, rest)) +
                   " bytes, found the length " + text(header) +
                   "; the file is damaged, not complete, or no safetensors file");
    const std::span<const std::byte> json = bytes.subspan(lengthBytes, header);
    if (json.empty() || json.front() != std::byte{'{'})
        return bad(json.empty() ? "the header is empty" : "the header does not begin with a JSON object");
    if (Status there = readAhead(json); !there)
        return makeError(there.error().code, "read " + m_name, there.error().message);

    SafetensorsHeader list;
    const auto *begin = reinterpret_cast<const char *>(json.data());
    if (!nlohmann::json::sax_parse(begin, begin + json.size(), &list))
        return bad(list.problem());
    m_tensors = list.takeTensors();
    m_metadata = list.takeMetadata();
    m_dataOffset = lengthBytes + header;
    return place(bytes.subspan(m_dataOffset));
}

Status SafetensorsFile::place(std::span<const std::byte> data)
{
    const auto bad = [this](const SafetensorsTensor &tensor, const std::string &message) {
        return makeError(ErrorCode::BadFile, "read " + m_name,
                         "tensor " + quotedForMessage(tensor.name) + ": " + message);
    };
    std::sort(m_tensors.begin(), m_tensors.end(), [](const auto &a, const auto &b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name); // names are there once
    });
    std::uint64_t next = 0;
    for (SafetensorsTensor &tensor : m_tensors) {
        const std::string range = "bytes " + text(tensor.begin) + " to " + text(tensor.end);
        if (tensor.begin > tensor.end)
            return bad(tensor, "field \"data_offsets\": found " + range);
        if (tensor.end > data.size())
            return bad(tensor, "its data (" + range + ") lies beyond the end of the file (" +
                                   text(data.size()) +
                                   " bytes of data); the file is damaged or not complete");
        const CheckedSize size = bytesOf(tensor);
        if (!size.isValid())
            return bad(tensor, "the product of its dimensions is no size in bytes that there can be");
        if (size.value() != tensor.end - tensor.begin)
            return bad(tensor, "expected " + text(size.value()) + " bytes by its type and shape, found " +
                                   text(tensor.end - tensor.begin) + " (" + range + ")");
        if (tensor.begin != next)
            return bad(tensor, tensor.begin < next
                                   ? "its data (" + range + ") overlaps that of another tensor"
                                   : "its data begins at " + text(tensor.begin) +
                                         ", behind a hole: expected " + text(next));
        next = tensor.end;
        tensor.data = data.subspan(tensor.begin, tensor.end - tensor.begin);
    }
    if (next != data.size())
        return makeError(ErrorCode::BadFile, "read " + m_name,
                         "the file has " + text(data.size()) + " bytes of data, its tensors only " +
                             text(next));
    return {};
}

} // namespace tokenloupe
