// A plugin's shared object: opened, checked against the contract, never unloaded.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "strategy/plugin.h"

namespace tickpath::strategy {

// Which file, what is wrong with it, and what to do.
class PluginError : public Error {
 public:
  using Error::Error;
};

// Finds the file: as given if absolute; else relative to plugin_dir (empty: none is configured), to
// the program's ../ (build/release/bin/.. holds plugins/), to its ../lib/tickpath (as installed).
// Returns the first that exists; throws PluginError naming all places looked at.
std::string find_plugin_file(const std::string& file, const std::string& plugin_dir);

// Opens the object, calls its entry and checks the ABI version, every struct size and the required
// callbacks. Throws PluginError. The object stays loaded until the process ends: pointers into it
// (names, callbacks, exception types) outlive every engine. Control thread.
const tickpath_plugin& load_plugin(const std::string& path);

}  // namespace tickpath::strategy
