#include "strategy/plugin_file.hpp"

#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include "common/base/trusted_file.hpp"

namespace tickpath::strategy {
namespace {

namespace fs = std::filesystem;

fs::path program_directory() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

void require_size(const std::string& path, const char* name, std::size_t theirs, std::size_t ours) {
  if (theirs == ours) return;
  throw PluginError("plugin " + path + ": its " + name + " has " + std::to_string(theirs) +
                    " bytes, the engine's has " + std::to_string(ours) +
                    "; compile it with this release's strategy/plugin.h and default packing");
}

// Runs the entry, which is foreign code: the first chance for an exception.
const tickpath_plugin* call_entry(const std::string& path, tickpath_plugin_entry_function entry) {
  const tickpath_plugin* plugin = nullptr;
  try {
    plugin = entry();
  } catch (...) {
    throw PluginError("plugin " + path +
                      ": its entry " TICKPATH_PLUGIN_ENTRY
                      " threw; it must only return its struct");
  }
  if (plugin == nullptr) {
    throw PluginError("plugin " + path +
                      ": its entry " TICKPATH_PLUGIN_ENTRY
                      " returned null; it must return its struct");
  }
  return plugin;
}

void check_contract(const std::string& path, const tickpath_plugin& plugin) {
  // The version first: nothing behind it can be trusted to be where we think.
  if (plugin.abi_version != TICKPATH_PLUGIN_ABI_VERSION) {
    throw PluginError("plugin " + path + ": built for plugin ABI " +
                      std::to_string(plugin.abi_version) + ", this engine speaks ABI " +
                      std::to_string(TICKPATH_PLUGIN_ABI_VERSION) +
                      "; rebuild it with this release's strategy/plugin.h");
  }
  require_size(path, "tickpath_plugin", plugin.struct_size, sizeof(tickpath_plugin));
  if (plugin.host_struct_size > sizeof(tickpath_host)) {
    throw PluginError("plugin " + path + ": wants a newer engine (a tickpath_host of " +
                      std::to_string(plugin.host_struct_size) + " bytes, this one has " +
                      std::to_string(sizeof(tickpath_host)) + "); update the engine");
  }
  require_size(path, "tickpath_book_change", plugin.book_change_size, sizeof(tickpath_book_change));
  require_size(path, "tickpath_trade", plugin.trade_size, sizeof(tickpath_trade));
  require_size(path, "tickpath_report", plugin.report_size, sizeof(tickpath_report));
  require_size(path, "tickpath_depth", plugin.depth_size, sizeof(tickpath_depth));
  require_size(path, "tickpath_position", plugin.position_size, sizeof(tickpath_position));
  require_size(path, "tickpath_new_order", plugin.new_order_size, sizeof(tickpath_new_order));
  require_size(path, "tickpath_imbalance", plugin.imbalance_size, sizeof(tickpath_imbalance));
  if (plugin.create == nullptr || plugin.destroy == nullptr || plugin.name == nullptr) {
    throw PluginError("plugin " + path +
                      ": create, destroy and name must be set in its tickpath_plugin");
  }
}

}  // namespace

std::string find_plugin_file(const std::string& file, const std::string& plugin_dir) {
  const fs::path given(file);
  std::vector<fs::path> places;
  if (given.is_absolute()) {
    places = {given};
  } else {
    // Not the working directory: whoever may write there would trade.
    if (!plugin_dir.empty()) places.push_back(fs::path(plugin_dir) / given);
    const fs::path prefix = program_directory().parent_path();
    places.push_back(prefix / given);
    places.push_back(prefix / "lib/tickpath" / given);
  }
  std::string looked_at;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) return fs::absolute(place).lexically_normal().string();
    looked_at += (looked_at.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw PluginError("plugin " + file + ": no such file (looked at " + looked_at +
                    "); build it or correct `file` of this [[plugin]]");
}

const tickpath_plugin& load_plugin(const std::string& path) {
  if (const std::string why = why_untrusted(path); !why.empty())
    throw PluginError("plugin " + path + ": is not loaded, as others could change it: " + why);
  // RTLD_NOW: a symbol that is missing fails here, not in the middle of trading. RTLD_LOCAL: two
  // plugins may define the same names.
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object == nullptr) {
    const char* why = ::dlerror();
    throw PluginError("plugin " + path +
                      ": cannot be loaded: " + (why == nullptr ? "unknown reason" : why) +
                      "; rebuild it as a shared object for this machine");
  }
  void* symbol = ::dlsym(object, TICKPATH_PLUGIN_ENTRY);
  if (symbol == nullptr) {
    throw PluginError("plugin " + path +
                      ": has no entry " TICKPATH_PLUGIN_ENTRY
                      "; end its source with TICKPATH_STRATEGY(...) or define the C function");
  }
  // POSIX guarantees this conversion for dlsym(), C++ only supports it conditionally.
  const auto entry = reinterpret_cast<tickpath_plugin_entry_function>(symbol);
  const tickpath_plugin* plugin = call_entry(path, entry);
  check_contract(path, *plugin);
  return *plugin;
}

}  // namespace tickpath::strategy
