// How --help is laid out, of every program.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class FormatterBase;
}

namespace tickpath::control {

// Lines of options and commands are broken at a blank before column 100, and go on below their
// text. To be given to an App before its subcommands are added.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// Each line of `text` that is longer than `columns` is broken at blanks, and goes on behind
// `indent` of them. A word that is longer stays whole.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent);

}  // namespace tickpath::control
