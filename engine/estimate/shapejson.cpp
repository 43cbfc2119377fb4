// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/shapeplain.h"
#include "engine/model/hf/configtext.h"

namespace tokenloupe {

Result<ModelShape> shapeOfJson(std::string_view text, std::string_view name)
{
    const JsonSource source{sanitizedUtf8(name), "read shape " + sanitizedUtf8(name)};
    const auto object = parseConfigText(text, source);
    if (!object)
        return tl::unexpected(object.error());
    const nlohmann::json whole = withTextPart(*object);
    JsonFields fields(whole, source);
    const bool isConfig = fields.has({"model_type", "architectures"});
    const bool isPlain = fields.has({"layers", "hidden"});
    if (!isConfig && !isPlain)
        return makeError(ErrorCode::InvalidArgument, source.operation,
                         "field \"model_type\": expected a config.json, or a shape with \"layers\", "
                         "\"hidden\" and so on; found neither");
    const ShapeSpec spec = isConfig ? specOfConfig(fields) : specOfPlainShape(fields);
    if (!fields.ok())
        return tl::unexpected(fields.status().error());
    return buildShape(spec);
}

} // namespace tokenloupe
