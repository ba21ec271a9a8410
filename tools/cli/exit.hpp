// How a command ends the tool with a status of its own, after it has said what there is to say.
#pragma once

namespace tickpath::cli {

// Thrown by a command, caught by main().
struct Exit {
  int status;
};

}  // namespace tickpath::cli
