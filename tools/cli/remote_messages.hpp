// What `tickpath up` and its agent on another host say to each other over ssh: a JSON object on one
// line, and behind it as many bytes as its "bytes" says.
//
//   agent  {"agent": 1, "version": "0.1.0", "machine": "..."}     first of all
//   to it  {"do": "probe", folder, binaries, run_dir, programs}   -> {"problems": [...]}
//          {"do": "print-config", program, ...}                   -> {"status": 0}, output as bytes
//          {"do": "run", program, ...}                            -> {"running": pid}
//          {"do": "attach", program, "output_at": bytes had}      -> {"running": pid}
//            program, ...: folder, binaries, run_dir, name, program, config, settings, detached,
//            patience_ns
//   to it  {"beat": 1} each second, {"signal": number}
//   agent  {"output": 1} with bytes; {"file": name, "at": offset, "size": whole} with bytes;
//          {"ended": status of waitpid(), or null: nobody saw it}; {"failed": text}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/control/json.hpp"

namespace tickpath::cli {

// Raised with every change of what is above: both ends are of one version.
inline constexpr int kAgentProtocol = 1;

struct Message {
  control::Json head;
  std::string body;
};

std::string encoded(control::Json head, std::string_view body = {});

// Takes bytes as they come, gives messages. One thread.
class MessageReader {
 public:
  void append(std::string_view bytes) { buffer_ += bytes; }
  // nullopt: none is complete. Throws Error with what stands there instead of a message, or for one
  // that is longer than any of ours (kHeadMax, kBodyMax).
  std::optional<Message> next();

  // Bytes. A head has a configuration file in it; a body is a piece of a file.
  static constexpr std::size_t kHeadMax = std::size_t{1} << 22;
  static constexpr std::size_t kBodyMax = std::size_t{1} << 20;

 private:
  std::string buffer_;
};

// Writes all of it, waiting for room; false where there was none for so long, or nobody reads it.
bool write_all(int file, std::string_view bytes, int timeout_ms);

// This machine, as other programs of it see it: where two are the same, they share files, memory
// and the loopback interface.
std::string machine_id();

}  // namespace tickpath::cli
