// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/nearestnames.h"
#include "engine/estimate/shapedata.h"

#include <nlohmann/json.hpp>

namespace tokenloupe {

namespace {

/// The list of the program: [{"name", "published": parameters as stated by the publisher, "shape": {…}}].
const nlohmann::json &shapeList()
{
    static const nlohmann::json list = nlohmann::json::parse(builtInShapeData, nullptr, false);
    return list;
}

} // namespace

std::vector<std::string> builtInShapeNames()
{
    std::vector<std::string> names;
    for (const nlohmann::json &entry : shapeList())
        names.push_back(entry.value("name", std::string()));
    return names;
}

Result<ModelShape> builtInShape(std::string_view name)
{
    const std::string wanted = comparableName(name);
    for (const nlohmann::json &entry : shapeList()) {
        const std::string known = entry.value("name", std::string());
        if (comparableName(known) != wanted)
            continue;
        auto shape = shapeOfJson(entry["shape"].dump(), known);
        if (shape)
            shape->source = "built in";
        return shape;
    }
    return makeError(ErrorCode::NotFound, "find shape",
                     quotedForMessage(name) +
                         " is not known; near: " + nearestNamesText(name, builtInShapeNames()));
}

} // namespace tokenloupe
