#include "tools/cli/man_page.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include <CLI/CLI.hpp>

namespace tickpath::cli {
namespace {

// A line that begins with a dot or an apostrophe would be a request of troff's.
std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (all.empty() || all.back() == '\n')) all += "\\&";
    if (c == '\\')
      all += "\\e";
    else if (c == '-')
      all += "\\-";
    else
      all += c;
  }
  return all;
}

void add_paragraph(std::string& page, const std::string& text) {
  if (!text.empty()) page += ".PP\n" + escaped(text) + "\n";
}

void add_item(std::string& page, const std::string& name, const std::string& text) {
  page += ".TP\n\\fB" + escaped(name) + "\\fR\n" + escaped(text) + "\n";
}

void add_options(std::string& page, const CLI::App& app) {
  const CLI::Formatter names;  // as --help has them
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options([&](const CLI::Option* each) {
           return (positional ? each->get_positional() : each->nonpositional()) &&
                  !each->get_group().empty() && each != app.get_help_ptr();
         }))
      add_item(page, names.make_option_name(option, positional) + names.make_option_opts(option),
               names.make_option_desc(option));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

// And those that it has below it: "history load".
void add_command(std::string& page, const CLI::App& command, const std::string& name) {
  page += ".SS " + escaped(name) + "\n" + escaped(command.get_description()) + "\n";
  add_options(page, command);
  add_paragraph(page, command.get_footer());
  for (const CLI::App* below : commands_of(command))
    add_command(page, *below, name + " " + below->get_name());
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& program, const std::string& version,
                     const std::function<std::string_view(const std::string&)>& elsewhere) {
  const std::string description = app.get_description();
  std::string page = ".TH " + escaped(upper(program)) + " 1 \"\" \"tickpath " + version + "\"\n" +
                     ".SH NAME\n" + escaped(program) + " \\- " +
                     escaped(description.substr(description.find(' ') + 1)) + "\n" +
                     ".SH SYNOPSIS\n.B tickpath\n.I command\n[options]\n.SH OPTIONS\n";
  add_options(page, app);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    if (const std::string_view other = elsewhere(name); !other.empty())
      add_item(page, name, command->get_description() + "\nSee " + std::string(other) + "(1).");
    else
      add_command(page, *command, name);
  }
  page += ".SH EXIT STATUS\n" + escaped(app.get_footer()) + "\n";
  return page;
}

}  // namespace tickpath::cli
