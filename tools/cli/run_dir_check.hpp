// Which run directory `up` takes where none is given, and whether what lies there is of the same
// programs.
#pragma once

#include <string>
#include <vector>

namespace tickpath::cli {

struct ConfiguredProgram;
struct EffectiveConfig;

// `run_dir` of the programs' files and of --set. Throws config::ConfigError where they differ. A
// file that is not TOML counts as one without the key: its own program says what is wrong.
std::string run_dir_of(const std::vector<ConfiguredProgram>& programs);

// " --run-dir DIR" for a command that is proposed to a person; empty: it is the default.
std::string run_dir_option(const std::string& run_dir);

// "nothing runs in 'run'", and where below that directory something does.
std::string nothing_runs(const std::string& run_dir);

// FIX message stores in the run directory that are of other sessions than the oegs' files name: a
// sentence each with the remedy. Programs of other hosts are not looked at.
std::vector<std::string> foreign_stores(const std::vector<EffectiveConfig>& configs);

}  // namespace tickpath::cli
