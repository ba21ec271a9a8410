#include "tools/cli/new_strategy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <fstream>

#include "common/base/error.hpp"

namespace tickpath::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameMax = 31;  // as tickpath_plugin::name
// CMake has targets of these names, or the project does.
constexpr std::array<std::string_view, 10> kTaken{
    "all",     "clean",   "config",     "edit_cache",    "help",
    "install", "package", "preinstall", "rebuild_cache", "test"};

// Throws Error.
void check_name(const std::string& name) {
  const bool letters = std::ranges::all_of(name, [](unsigned char each) {
    return std::islower(each) != 0 || std::isdigit(each) != 0 || each == '_';
  });
  if (name.empty() || name.size() > kNameMax || !letters ||
      std::islower(static_cast<unsigned char>(name[0])) == 0)
    throw Error("new-strategy: '" + name +
                "' is no name for a strategy: a small letter, then at most " +
                std::to_string(kNameMax - 1) + " small letters, digits and underscores");
  if (std::ranges::find(kTaken, name) != kTaken.end())
    throw Error("new-strategy: CMake has a target '" + name + "' of its own; take another name");
}

// "buy_the_dip" to "BuyTheDip".
std::string class_name(std::string_view name) {
  std::string made;
  bool upper = true;
  for (const char each : name) {
    if (each == '_') {
      upper = true;
    } else {
      made += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(each))) : each;
      upper = false;
    }
  }
  return made;
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string template_of(std::string_view file) {
  const auto found = std::ranges::find(detail::kProjectTemplates, file,
                                       &std::pair<std::string_view, std::string_view>::first);
  return std::string(found->second);
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw SystemError("new-strategy: cannot write " + path.string(), errno);
}

}  // namespace

fs::path installed_prefix(const fs::path& program) {
  const fs::path prefix = program.parent_path().parent_path();
  if (fs::exists(prefix / "share/tickpath/config/demo/strategy.toml") &&
      fs::exists(prefix / "lib/cmake/tickpath/tickpathConfig.cmake"))
    return prefix;
  throw Error("new-strategy: " + program.string() +
              " is not installed, and a project is built against an installed tickpath; "
              "`cmake --install build/release --prefix PREFIX`, then PREFIX/bin/tickpath "
              "new-strategy");
}

std::vector<std::pair<std::string, std::string>> project_files(const NewStrategy& project) {
  const std::string& name = project.name;
  std::vector<std::pair<std::string, std::string>> files{
      {"CMakeLists.txt", template_of("CMakeLists.txt")},
      {"README.md", template_of("README.md")},
      {name + ".cpp", template_of("strategy.cpp")},
      {name + "_test.cpp", template_of("test.cpp")},
      {"config/strategy.toml", template_of("strategy.toml")}};
  for (const std::string program : {"sim", "mdh", "oeg", "risk"}) {
    std::string text = template_of("program.toml");
    replace_all(text, "%PROGRAM%", program);
    files.emplace_back("config/" + program + ".toml", std::move(text));
  }
  for (auto& [file, text] : files) {
    replace_all(text, "%NAME%", name);
    replace_all(text, "%CLASS%", class_name(name));
    replace_all(text, "%PREFIX%", project.prefix.string());
    replace_all(text, "%DEMO%", (project.prefix / "share/tickpath/config/demo").string());
    replace_all(text, "%DOCS%", (project.prefix / "share/doc/tickpath/docs").string());
  }
  return files;
}

fs::path write_project(const NewStrategy& project) {
  check_name(project.name);
  if (!fs::is_directory(project.folder))
    throw Error("new-strategy: there is no folder " + project.folder.string() + "; make it first");
  const fs::path folder = fs::absolute(project.folder / project.name).lexically_normal();
  std::error_code error;
  if (!fs::create_directory(folder, error)) {
    if (error) throw SystemError("new-strategy: cannot make " + folder.string(), error.value());
    throw Error("new-strategy: " + folder.string() +
                " is there already, and is left as it is; take another name, or --dir");
  }
  try {
    fs::create_directory(folder / "config");
    for (const auto& [file, text] : project_files(project)) write(folder / file, text);
  } catch (...) {
    fs::remove_all(folder, error);
    throw;
  }
  return folder;
}

}  // namespace tickpath::cli
