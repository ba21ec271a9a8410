// What the programs of one configuration directory must say alike, looked at before any starts.
#pragma once

#include <string>
#include <vector>

namespace tickpath::cli {

// A program's configuration in effect, as its --print-config tells it.
struct EffectiveConfig {
  std::string name;       // of the instance
  std::string program;    // "mdh"
  std::string path;       // of its file, for the reader
  std::string text;       // TOML
  std::string host{};     // where it runs (hosts.toml); empty: here
  std::string machine{};  // the same for hosts that share files and the loopback interface
};

// Everything that does not fit, a sentence each with file, key and remedy; empty: all fits. Keys
// that a configuration does not have are not looked at. `whole`: no other program runs anywhere, so
// that one that is needed and not there is a mistake, too. Throws Error for text that is not TOML.
std::vector<std::string> cross_check(const std::vector<EffectiveConfig>& configs, bool whole);

}  // namespace tickpath::cli
