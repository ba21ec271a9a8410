// What the programs that make up the command `tickpath` have in common. `tickpath` itself runs a
// pipeline; the commands that need other libraries are in programs beside it, so that who runs a
// pipeline builds nothing else.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace tickpath::cli {

// Adds `name` to the command line of the program that has it. Aborts where none has.
CLI::App* add_other_command(CLI::App& app, std::string_view name);

// For `tickpath --help`: the commands of the other programs.
void list_other_commands(CLI::App& app);

// Becomes the program that has the command argv[1]. Returns where `tickpath` has it itself, or
// nobody. Throws Error where the program is not there, with the command that builds it.
void become_other_program(char** argv);

// The main() of each: parses the commands that `add` adds, runs one, returns the exit status.
// `before`, if there is one, runs first, and what it throws is reported likewise.
int command_main(int argc, char** argv, void (*add)(CLI::App&), void (*before)(char**) = nullptr);

}  // namespace tickpath::cli
