// The manual page of a program of `tickpath`, made of its command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tickpath::cli {

// For man(1), in the macros of man(7): every command of `app` with its options, and what runs below
// it. program: whose page it is ("tickpath-data"). elsewhere: the program that has a command
// instead; empty: this one. Such a command is a line that names the other page.
std::string man_page(const CLI::App& app, const std::string& program, const std::string& version,
                     const std::function<std::string_view(const std::string& command)>& elsewhere);

}  // namespace tickpath::cli
