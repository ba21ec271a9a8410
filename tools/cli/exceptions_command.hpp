// `tickpath exceptions`: what oeg could not book of the venue's reports, and a person's word on it.
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

void add_exceptions_command(CLI::App& app);

}  // namespace tickpath::cli
