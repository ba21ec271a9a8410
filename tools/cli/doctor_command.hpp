// tickpath doctor: is this machine ready?
#pragma once

namespace CLI {
class App;
}

namespace tickpath::cli {

void add_doctor_command(CLI::App& app);

}  // namespace tickpath::cli
