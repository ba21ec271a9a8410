// A FIX engine that is not ours: QuickFIX with its own sockets, threads, message files and data
// dictionaries, as a client or a venue would run it. Plain C++14 and free of QuickFIX types, as
// common/fix/detail/quickfix_bridge.hpp, for the same reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tickpath {
namespace test_support {

// An application message. Header fields that matter here (43, 97) are among the fields.
struct QuickFixMessage {
  std::string type;
  std::vector<std::pair<int, std::string>> fields;

  // The empty string when it has no such field.
  std::string get(int tag) const;
};

struct QuickFixOptions {
  bool initiator = true;  // else it listens
  std::uint16_t port = 0;
  std::string begin_string;  // "FIX.4.2", "FIX.4.4"
  std::string sender;
  std::string target;
  std::string dictionary;  // path of QuickFIX's XML
  std::string folder;      // message files; survive this object
};

// Runs from its construction to its end. Any thread.
class QuickFixPeer {
 public:
  // Throws std::runtime_error with QuickFIX's words.
  explicit QuickFixPeer(const QuickFixOptions& options);
  ~QuickFixPeer();
  QuickFixPeer(const QuickFixPeer&) = delete;
  QuickFixPeer& operator=(const QuickFixPeer&) = delete;

  // Without a Logout, as a process that is killed. What has come is still there for next().
  void drop();
  bool logged_on() const;
  // While the session is down it is kept, and resent after the next Logon.
  void send(const QuickFixMessage& message);
  // The next message from the other side; false when none comes in time.
  bool next(QuickFixMessage& message, int milliseconds);
  // Session-level Rejects (3), of both sides; each is a line.
  std::vector<std::string> rejects() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace test_support
}  // namespace tickpath
