// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfconfig.h"

#include "engine/model/hf/hfconfigreader.h"

namespace tokenloupe {

Result<HfConfig> readHfConfig(const nlohmann::json &config, const JsonSource &source, std::uint64_t tensors)
{
    JsonFields fields(config, source);
    const std::string type = fields.text({"model_type"}, "");
    if (fields.ok() && type.empty())
        fields.fail(ErrorCode::BadFile, "model_type", "expected the name of an architecture, found nothing");
    if (!fields.ok())
        return tl::unexpected(fields.status().error());
    const auto family = hfFamily(type);
    if (!family) {
        fields.fail(family.error().code, "model_type", family.error().message);
        return tl::unexpected(fields.status().error());
    }
    HfConfig read = HfConfigReader(fields, **family).read(tensors);
    if (!fields.ok())
        return tl::unexpected(fields.status().error());
    read.model.architecture = type;
    return read;
}

} // namespace tokenloupe
