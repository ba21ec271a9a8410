#include "common/control/help_formatter.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace tickpath::control {
namespace {

constexpr std::size_t kColumns = 100;

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return wrap(CLI::Formatter::make_option(option, is_positional));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return wrap(CLI::Formatter::make_subcommand(command));
  }

 private:
  // CLI11 puts the texts in a column.
  std::string wrap(const std::string& text) const { return wrapped(text, kColumns, column_width_); }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  std::string all, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    while (line.size() > columns) {
      std::size_t at = line.rfind(' ', columns);
      // Nothing but the indentation is before it.
      if (at == std::string::npos || line.find_first_not_of(' ') > at) at = line.find(' ', columns);
      if (at == std::string::npos) break;
      all += line.substr(0, at) + "\n";
      line = std::string(indent, ' ') + line.substr(at + 1);
    }
    all += line + "\n";
  }
  return all;
}

}  // namespace tickpath::control
