// A configuration file as the TOML parser gives it, for the few who look into a file of another
// program. Whoever owns the file loads it by its Schema (config.hpp).
#pragma once

#include <string>

#include <toml++/toml.h>

namespace tickpath::config {

// The file, laid over the one that it extends:
//
//   extends = "../demo/oeg.toml"    # from where this file is
//
// Tables are merged key by key. Any other value replaces the one of the same key, and so does a
// list of tables ([[plugin]]). The file that is extended may extend another one, eight deep.
// `extends` itself is not part of the result. source() of a node names the file where it stands.
// Throws ConfigError, also for a file that others could change (why_untrusted()); SystemError for
// one that cannot be read.
toml::table read_table(const std::string& path);

// Where a value stands: "demo/mdh.toml:12". name: where the parser does not know.
std::string position(const toml::node& node, const std::string& name);

}  // namespace tickpath::config
