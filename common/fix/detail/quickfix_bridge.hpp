// The only door to QuickFIX. Plain C++14 and free of QuickFIX types: QuickFIX 1.15.1 declares
// dynamic exception specifications, which C++17 removed, so what includes its headers is compiled
// as C++14, and this header is read by both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tickpath {
namespace fix {
namespace detail {

struct BridgeOptions {
  bool initiator = true;
  std::string begin_string;  // "FIX.4.2", "FIX.4.4"
  std::string sender;
  std::string target;
  int heartbeat_s = 10;
  int logon_timeout_s = 10;
  int logout_timeout_s = 2;
  bool reset_on_logon = false;
  bool next_expected = false;  // 789 in our Logon
  int sending_time_max_s = 0;  // 0: any
  std::string username;        // of an initiator's Logon; empty: none
  std::string password;
};

// How QuickFIX shall answer an application message (FIX 4.2, Reject).
struct AppVerdict {
  enum Kind { kAccept, kBadFormat, kBadValue };
  Kind kind;
  int tag;
};

// What QuickFIX needs from its owner. Called on the thread that called the bridge, inside that
// call. Nothing may throw.
class BridgeHooks {
 public:
  virtual ~BridgeHooks() {}
  // Message store.
  virtual bool store_put(int seq, const char* message, std::size_t length) = 0;
  virtual int next_sender() const = 0;
  virtual int next_target() const = 0;
  virtual void set_next_sender(int seq) = 0;
  virtual void set_next_target(int seq) = 0;
  virtual void store_reset() = 0;
  // Transport.
  virtual bool write(const char* bytes, std::size_t length) = 0;
  // SendingTime (52) of a message that leaves now.
  virtual std::string sending_time() = 0;
  virtual void close_transport() = 0;
  // Session.
  virtual void on_logon() = 0;
  virtual void on_logout() = 0;
  virtual void on_event(const char* text, std::size_t length) = 0;
  virtual AppVerdict on_app_message(const char* message, std::size_t length) = 0;
  virtual void on_session_reject(const char* message, std::size_t length) = 0;
  // The peer asks for what was sent from `begin` to `end` (0: to the last), which the owner sends
  // in its own time. False: there are no such messages.
  virtual bool on_resend_request(int begin, int end) = 0;
};

// A QuickFIX Session. One thread at a time; everything allocates and locks (uncontended).
class QuickFixBridge {
 public:
  // `hooks` outlives the bridge. Throws std::runtime_error with QuickFIX's words.
  QuickFixBridge(const BridgeOptions& options, BridgeHooks& hooks);
  ~QuickFixBridge();
  QuickFixBridge(const QuickFixBridge&) = delete;
  QuickFixBridge& operator=(const QuickFixBridge&) = delete;

  // A transport is there: the initiator sends its Logon.
  void attach() noexcept;
  // One framed message. `shown`: what QuickFIX may see of it; its owner's hooks get the message.
  // no_request: the peer's Logon, which knows what we lack by our own 789, and sends it unasked.
  void receive(const std::string& shown, const char* message, std::size_t length,
               bool no_request) noexcept;
  // Timers: logon and logout timeouts, heartbeats, test requests.
  void tick() noexcept;
  void logout(const char* reason, std::size_t length) noexcept;
  void disconnect() noexcept;

  bool logged_on() const noexcept;
  bool logout_pending() const noexcept;  // asked for or sent, not answered yet
  bool resend_pending() const noexcept;  // messages are missing: everything must go through here
  int missing_end() const noexcept;      // the last of them
  // QuickFIX queues what comes behind a gap without any bound; the owner keeps that.
  void forget_queued(int seq) noexcept;
  int heartbeat_s() const noexcept;  // in effect

  // What happened beside QuickFIX; call before receive() and tick(). Ages in nanoseconds.
  // `received_since`: something valid arrived since the last call, so no test request is open.
  void sync_activity(std::int64_t sent_age_ns, std::int64_t received_age_ns,
                     bool received_since) noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail
}  // namespace fix
}  // namespace tickpath
