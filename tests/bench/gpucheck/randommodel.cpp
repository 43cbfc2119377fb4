// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/gpucheck/randommodel.h"

#include "kernels/formats/blocks.h"
#include "kernels/formats/superblocks.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/tinymodel.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace tokenloupe::test {

namespace {

constexpr std::array<RandomModelShape, 3> shapes = {{
    {"1b", 16, 2048, 32, 8, 8192, 128256, 8192, true},
    {"8b", 32, 4096, 32, 8, 14336, 128256, 8192, false},
    {"tiny", 2, 256, 4, 2, 512, 512, 512, false},
}};

/// xorshift64*: a gigabyte a second and more.
class RandomBits
{
public:
    explicit RandomBits(std::uint64_t seed)
        : m_state(seed * 2 + 1)
    {}
    std::uint64_t next()
    {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        return m_state * 0x2545F4914F6CDD1DULL;
    }
    template <class T, std::size_t n>
    void fill(T (&bytes)[n])
    {
        static_assert(sizeof(T) == 1 && n % 8 == 0);
        for (std::size_t i = 0; i < n; i += 8) {
            const std::uint64_t word = next();
            std::memcpy(bytes + i, &word, 8);
        }
    }

private:
    std::uint64_t m_state;
};

// `deviation`: that the weights are to have. All codes are equally likely, whose own deviation is known.

void fillBlock(BlockQ4_0 &block, float deviation, RandomBits &bits)
{
    bits.fill(block.q);
    block.d = floatToHalf(deviation / 4.61F);
}

void fillBlock(BlockQ8_0 &block, float deviation, RandomBits &bits)
{
    bits.fill(block.q);
    block.d = floatToHalf(deviation / 73.9F);
}

void fillBlock(BlockQ6_K &block, float deviation, RandomBits &bits)
{
    constexpr std::int8_t scale = 32;
    bits.fill(block.q);
    bits.fill(block.high);
    for (std::int8_t &value : block.scales)
        value = scale;
    block.d = floatToHalf(deviation / (18.5F * float(scale)));
}

/// Four halves of either sign, their magnitude evenly between a power of two and the next.
struct HalfBlock
{
    std::uint16_t values[4];
};

void fillBlock(HalfBlock &block, float deviation, RandomBits &bits)
{
    const int exponent = int(std::lround(std::log2(deviation / 1.53F)));
    const auto power = std::uint64_t(exponent + 15) << 10;
    const std::uint64_t word = (bits.next() & 0x83FF83FF83FF83FFULL) | power * 0x0001000100010001ULL;
    std::memcpy(block.values, &word, sizeof(word));
}

template <class Block>
void fillBlocks(std::span<std::byte> out, float deviation, RandomBits &bits)
{
    Block block;
    for (std::size_t at = 0; at < out.size(); at += sizeof(Block)) {
        fillBlock(block, deviation, bits);
        std::memcpy(out.data() + at, &block, sizeof(Block));
    }
}

void fill(TensorType type, std::span<std::byte> out, float deviation, RandomBits &bits)
{
    switch (type) {
    case TensorType::Q4_0:
        return fillBlocks<BlockQ4_0>(out, deviation, bits);
    case TensorType::Q8_0:
        return fillBlocks<BlockQ8_0>(out, deviation, bits);
    case TensorType::Q6_K:
        return fillBlocks<BlockQ6_K>(out, deviation, bits);
    case TensorType::F16:
        return fillBlocks<HalfBlock>(out, deviation, bits);
    default:
        throw std::runtime_error(std::string("no random weights of type ") + traitsOf(type).name);
    }
}

struct PlannedTensor
{
    std::string name;
    std::uint64_t rows = 1;
    std::uint64_t columns = 0;
    TensorType type = TensorType::F32; ///< F32: a norm's gain, all ones

    std::uint64_t bytes() const
    {
        const TensorTypeTraits &traits = traitsOf(type);
        return rows * columns / traits.blockValues * traits.blockBytes;
    }
};

std::vector<PlannedTensor> planTensors(const RandomModelShape &shape, TensorType type)
{
    const TensorType headType = type == TensorType::Q4_0 ? TensorType::Q6_K : type;
    const std::uint64_t width = shape.embedding;
    const std::uint64_t kvWidth = std::uint64_t(shape.kvHeads) * shape.headSize();
    std::vector<PlannedTensor> tensors;
    tensors.push_back({"token_embd.weight", shape.vocabulary, width, shape.isTied ? headType : type});
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
        const std::string prefix = "blk." + std::to_string(layer) + ".";
        tensors.push_back({prefix + "attn_norm.weight", 1, width});
        tensors.push_back({prefix + "attn_q.weight", width, width, type});
        tensors.push_back({prefix + "attn_k.weight", kvWidth, width, type});
        tensors.push_back({prefix + "attn_v.weight", kvWidth, width, type});
        tensors.push_back({prefix + "attn_output.weight", width, width, type});
        tensors.push_back({prefix + "ffn_norm.weight", 1, width});
        tensors.push_back({prefix + "ffn_gate.weight", shape.feedForward, width, type});
        tensors.push_back({prefix + "ffn_up.weight", shape.feedForward, width, type});
        tensors.push_back({prefix + "ffn_down.weight", width, shape.feedForward, type});
    }
    tensors.push_back({"output_norm.weight", 1, width});
    if (!shape.isTied)
        tensors.push_back({"output.weight", shape.vocabulary, width, headType});
    return tensors;
}

constexpr std::uint64_t alignment = 32; ///< of tensors in the file

std::uint64_t aligned(std::uint64_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

std::vector<std::byte> header(const RandomModelShape &shape, const std::vector<PlannedTensor> &tensors)
{
    GgufWriter writer;
    writer.string("general.architecture", "llama")
        .string("general.name", std::string("random ") + std::string(shape.name));
    writer.u32("llama.block_count", shape.layers)
        .u32("llama.context_length", shape.context)
        .u32("llama.embedding_length", shape.embedding)
        .u32("llama.feed_forward_length", shape.feedForward)
        .u32("llama.attention.head_count", shape.heads)
        .u32("llama.attention.head_count_kv", shape.kvHeads)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", 500000.0F)
        .u32("llama.rope.dimension_count", shape.headSize())
        .u32("llama.vocab_size", shape.vocabulary);
    addTinyVocabulary(writer, shape.vocabulary);
    std::uint64_t offset = 0;
    for (const PlannedTensor &tensor : tensors) {
        std::vector<std::uint64_t> extents = {tensor.columns};
        if (tensor.type != TensorType::F32)
            extents.push_back(tensor.rows);
        writer.tensor(tensor.name, std::move(extents), static_cast<std::uint32_t>(tensor.type), {});
        writer.claimOffset(tensor.name, offset);
        offset += aligned(tensor.bytes());
    }
    return writer.bytes();
}

class PieceWriter
{
public:
    explicit PieceWriter(const std::filesystem::path &path)
        : m_path(path)
        , m_file(path, std::ios::binary | std::ios::trunc)
    {}
    void write(std::span<const std::byte> bytes)
    {
        m_file.write(reinterpret_cast<const char *>(bytes.data()),
                     static_cast<std::streamsize>(bytes.size()));
        m_bytes += bytes.size();
    }
    std::uint64_t close()
    {
        m_file.close();
        if (!m_file)
            throw std::runtime_error("cannot write " + m_path.string());
        return m_bytes;
    }

private:
    std::filesystem::path m_path;
    std::ofstream m_file;
    std::uint64_t m_bytes = 0;
};

void writeTensor(const PlannedTensor &tensor, RandomBits &bits, PieceWriter &file)
{
    if (tensor.type == TensorType::F32) {
        const std::vector<float> ones(tensor.columns, 1.0F);
        file.write(std::as_bytes(std::span(ones)));
    } else {
        const float deviation = 1.0F / std::sqrt(static_cast<float>(tensor.columns));
        const std::uint64_t rowBytes = tensor.bytes() / tensor.rows;
        const std::uint64_t pieceRows = std::max<std::uint64_t>(1, (std::uint64_t(4) << 20) / rowBytes);
        std::vector<std::byte> piece(pieceRows * rowBytes);
        for (std::uint64_t row = 0; row < tensor.rows; row += pieceRows) {
            const std::uint64_t count = std::min(pieceRows, tensor.rows - row);
            const std::span<std::byte> part = std::span(piece).first(count * rowBytes);
            fill(tensor.type, part, deviation, bits);
            file.write(part);
        }
    }
    const std::array<std::byte, alignment> padding{};
    file.write(std::span(padding).first(aligned(tensor.bytes()) - tensor.bytes()));
}

} // namespace

std::uint64_t RandomModelShape::layerWeights() const
{
    const std::uint64_t attention =
        2 * std::uint64_t(embedding) * embedding + 2 * std::uint64_t(embedding) * kvHeads * headSize();
    return layers * (attention + 3 * std::uint64_t(embedding) * feedForward);
}

double RandomModelShape::prefillOperations(std::uint64_t tokens) const
{
    const auto n = static_cast<double>(tokens);
    const double products = 2.0 * n * static_cast<double>(layerWeights());
    // Scores and weighted values, each a multiplication and an addition for each number of each head, of half
    // of all pairs of tokens.
    const double attention = 2.0 * layers * embedding * n * n;
    return products + attention + 2.0 * static_cast<double>(headWeights());
}

const RandomModelShape *randomModelShape(std::string_view name)
{
    for (const RandomModelShape &shape : shapes) {
        if (shape.name == name)
            return &shape;
    }
    return nullptr;
}

std::uint64_t writeRandomModel(const std::filesystem::path &path, const RandomModelShape &shape,
                               TensorType type, std::uint64_t seed)
{
    const std::vector<PlannedTensor> tensors = planTensors(shape, type);
    PieceWriter file(path);
    file.write(header(shape, tensors));
    RandomBits bits(seed);
    for (const PlannedTensor &tensor : tensors)
        writeTensor(tensor, bits, file);
    return file.close();
}

} // namespace tokenloupe::test
