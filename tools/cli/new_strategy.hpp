// `tickpath new-strategy`: a project of one strategy, to be built against an installed tickpath.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickpath::cli {

struct NewStrategy {
  std::string name;              // of the strategy, its files and its folder
  std::filesystem::path folder;  // that gets the folder; it is there already
  std::filesystem::path prefix;  // of the installed tickpath
};

// Where `program` (bin/tickpath) is installed. Throws Error for one that is not: it runs from a
// build folder, or without the package that strategies are built with.
std::filesystem::path installed_prefix(const std::filesystem::path& program);

// Writes the project into folder/name and returns that. Throws Error for a wrong name, a folder
// that exists, and a full disk. Then nothing is left behind.
std::filesystem::path write_project(const NewStrategy& project);

// Its files, by their names in the project; made of tools/cli/new_strategy/*.in.
std::vector<std::pair<std::string, std::string>> project_files(const NewStrategy& project);

namespace detail {
// As the tree has them: file name without ".in", text.
extern const std::vector<std::pair<std::string_view, std::string_view>> kProjectTemplates;
}  // namespace detail

}  // namespace tickpath::cli
