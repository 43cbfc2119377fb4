// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/safetensorsfile.h"

#include <nlohmann/json.hpp>
#include <set>

namespace tokenloupe {

/// Takes the events of a JSON parser that reads a safetensors header, one after the other: no tree of the
/// header is ever built, and whatever does not belong there ends the parse at once. Its functions have the
/// names and arguments that the parser asks for.
class SafetensorsHeader final : public nlohmann::json_sax<nlohmann::json>
{
public:
    /// What went wrong; empty: all is well.
    const std::string &problem() const { return m_problem; }
    std::vector<SafetensorsTensor> takeTensors() { return std::move(m_tensors); }
    std::map<std::string, std::string, std::less<>> takeMetadata() { return std::move(m_metadata); }

    bool null() override { return scalar("null"); }
    bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override;
    bool number_float(number_float_t, const string_t &text) override { return scalar(text); }
    bool string(string_t &text) override;
    bool binary(binary_t &) override { return scalar("binary data"); }
    bool start_object(std::size_t) override;
    bool key(string_t &text) override;
    bool end_object() override;
    bool start_array(std::size_t) override;
    bool end_array() override;
    bool parse_error(std::size_t position, const std::string &token,
                     const nlohmann::json::exception &exception) override;

private:
    /// Where the parser is.
    enum class Place {
        Start,
        Top,     ///< between tensors
        Entry,   ///< behind a tensor's name
        Fields,  ///< in a tensor's object
        Type,    ///< behind "dtype"
        Shape,   ///< behind "shape"
        Extents, ///< in its list
        Offsets, ///< behind "data_offsets"
        Bounds,  ///< in its list
        Unknown, ///< behind a field that the format does not know
        Skipped, ///< in such a field's value
        Notes,   ///< behind "__metadata__"
        NoteKeys,
        NoteText, ///< behind a key of it
        End
    };

    bool scalar(const std::string &found); ///< a value that is none of those expected here
    bool fail(std::string problem);
    bool failHere(const std::string &what, const std::string &found);
    bool finishTensor();
    std::string label() const;

    Place m_place = Place::Start;
    std::size_t m_depth = 0; ///< inside a skipped value
    SafetensorsTensor m_tensor;
    std::string m_note;
    std::set<std::string, std::less<>> m_fields; ///< of the tensor, that were there
    std::vector<std::uint64_t> m_bounds;
    std::set<std::string, std::less<>> m_names;
    std::vector<SafetensorsTensor> m_tensors;
    std::map<std::string, std::string, std::less<>> m_metadata;
    std::string m_problem;
};

} // namespace tokenloupe
