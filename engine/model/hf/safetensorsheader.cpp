// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/safetensorsheader.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

namespace {

constexpr std::size_t deepestSkipped = 64;
constexpr std::size_t mostExtents = 16;       // dimensions, far above any tensor
constexpr std::size_t mostTensors = 1U << 20; // far above any model, far below what hurts
constexpr std::size_t longestFound = 80;      // bytes of a wrong value that a message shows

} // namespace

std::string SafetensorsHeader::label() const
{
    return "tensor " + quotedForMessage(m_tensor.name);
}

bool SafetensorsHeader::fail(std::string problem)
{
    if (m_problem.empty())
        m_problem = std::move(problem);
    return false;
}

bool SafetensorsHeader::failHere(const std::string &what, const std::string &found)
{
    const std::string shown = sanitizedUtf8(found.substr(0, longestFound));
    return fail(what + ", found " + shown);
}

bool SafetensorsHeader::scalar(const std::string &found)
{
    switch (m_place) {
    case Place::Unknown:
        m_place = Place::Fields;
        return true;
    case Place::Skipped:
        return true;
    case Place::Extents:
        return failHere(label() + ", field \"shape\": expected whole numbers from 0", found);
    case Place::Bounds:
        return failHere(label() + ", field \"data_offsets\": expected whole numbers from 0", found);
    case Place::Type:
        return failHere(label() + ", field \"dtype\": expected a text", found);
    case Place::Shape:
        return failHere(label() + ", field \"shape\": expected a list", found);
    case Place::Offsets:
        return failHere(label() + ", field \"data_offsets\": expected a list", found);
    case Place::Entry:
        return failHere(label() + ": expected an object", found);
    case Place::Notes:
        return failHere("field \"__metadata__\": expected an object", found);
    case Place::NoteText:
        return failHere("field \"__metadata__\", key " + quotedForMessage(m_note) + ": expected a text",
                        found);
    default:
        return failHere("expected a JSON object", found);
    }
}

bool SafetensorsHeader::number_unsigned(number_unsigned_t value)
{
    if (m_place == Place::Extents) {
        if (m_tensor.shape.size() == mostExtents)
            return fail(label() + ", field \"shape\": more than " + std::to_string(mostExtents) +
                        " dimensions");
        m_tensor.shape.push_back(value);
        return true;
    }
    if (m_place == Place::Bounds) {
        if (m_bounds.size() == 2)
            return fail(label() + ", field \"data_offsets\": expected two numbers, found more");
        m_bounds.push_back(value);
        return true;
    }
    return scalar(std::to_string(value));
}

bool SafetensorsHeader::string(string_t &text)
{
    if (m_place == Place::Type) {
        m_tensor.type = safetensorsType(text);
        if (!m_tensor.type)
            return failHere(label() + ", field \"dtype\": expected a type of the format",
                            quotedForMessage(text));
        m_place = Place::Fields;
        return true;
    }
    if (m_place == Place::NoteText) {
        if (!m_metadata.emplace(m_note, std::move(text)).second)
            return fail("field \"__metadata__\": the key " + quotedForMessage(m_note) + " is there twice");
        m_place = Place::NoteKeys;
        return true;
    }
    return scalar(quotedForMessage(text));
}

bool SafetensorsHeader::start_object(std::size_t /*size*/)
{
    switch (m_place) {
    case Place::Start:
        m_place = Place::Top;
        return true;
    case Place::Entry:
        m_place = Place::Fields;
        return true;
    case Place::Notes:
        m_place = Place::NoteKeys;
        return true;
    case Place::Unknown:
    case Place::Skipped:
        m_place = Place::Skipped;
        return ++m_depth <= deepestSkipped || fail("the JSON is nested too deep");
    default:
        return scalar("an object");
    }
}

bool SafetensorsHeader::key(string_t &text)
{
    switch (m_place) {
    case Place::Top:
        if (text == "__metadata__") {
            if (!m_names.insert(text).second)
                return fail("the field \"__metadata__\" is there twice");
            m_place = Place::Notes;
            return true;
        }
        m_tensor = {};
        m_tensor.name = std::move(text);
        m_fields.clear();
        m_bounds.clear();
        m_place = Place::Entry;
        if (!m_names.insert(m_tensor.name).second)
            return fail(label() + " is there twice");
        if (m_tensors.size() == mostTensors)
            return fail("more than " + std::to_string(mostTensors) + " tensors");
        return true;
    case Place::Fields:
        if (!m_fields.insert(text).second)
            return fail(label() + ": the field " + quotedForMessage(text) + " is there twice");
        m_place = text == "dtype"          ? Place::Type
                  : text == "shape"        ? Place::Shape
                  : text == "data_offsets" ? Place::Offsets
                                           : Place::Unknown;
        return true;
    case Place::NoteKeys:
        m_note = std::move(text);
        m_place = Place::NoteText;
        return true;
    default:
        return true; // inside a skipped value
    }
}

bool SafetensorsHeader::end_object()
{
    switch (m_place) {
    case Place::Fields:
        m_place = Place::Top;
        return finishTensor();
    case Place::NoteKeys:
        m_place = Place::Top;
        return true;
    case Place::Skipped:
        if (--m_depth == 0)
            m_place = Place::Fields;
        return true;
    default:
        m_place = Place::End;
        return true;
    }
}

bool SafetensorsHeader::start_array(std::size_t /*size*/)
{
    switch (m_place) {
    case Place::Shape:
        m_place = Place::Extents;
        return true;
    case Place::Offsets:
        m_place = Place::Bounds;
        return true;
    case Place::Unknown:
    case Place::Skipped:
        m_place = Place::Skipped;
        return ++m_depth <= deepestSkipped || fail("the JSON is nested too deep");
    default:
        return scalar("a list");
    }
}

bool SafetensorsHeader::end_array()
{
    if (m_place == Place::Skipped) {
        if (--m_depth == 0)
            m_place = Place::Fields;
        return true;
    }
    if (m_place == Place::Bounds && m_bounds.size() != 2)
        return fail(label() + ", field \"data_offsets\": expected two numbers, found " +
                    std::to_string(m_bounds.size()));
    m_place = Place::Fields;
    return true;
}

bool SafetensorsHeader::finishTensor()
{
    for (const char *field : {"dtype", "shape", "data_offsets"}) {
        if (!m_fields.contains(field))
            return fail(label() + ": the field \"" + field + "\" is missing");
    }
    m_tensor.begin = m_bounds[0];
    m_tensor.end = m_bounds[1];
    m_tensors.push_back(std::move(m_tensor));
    m_tensor = {};
    return true;
}

bool SafetensorsHeader::parse_error(std::size_t position, const std::string & /*token*/,
                                    const nlohmann::json::exception & /*exception*/)
{
    return fail("the header is not JSON (at its byte " + std::to_string(position) + ")");
}

} // namespace tokenloupe
