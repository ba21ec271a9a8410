// `tickpath up --set key=value` is for every program, and most keys are of one.
#pragma once

#include <string>
#include <vector>

namespace tickpath::cli {

// What a program said when it checked its configuration, a line a problem; empty: all is well.
struct CheckOutput {
  std::string program;
  std::string host;  // empty: this one
  std::string text;
};

// Settings without a program's name that only some have the key of: a sentence each with the
// remedy. What the others said of it is taken out of their texts.
std::vector<std::string> misplaced_settings(const std::vector<std::string>& overrides,
                                            std::vector<CheckOutput>& outputs);

}  // namespace tickpath::cli
