// A FIX 4.2 or 4.4 session driven by one polling thread.
//
// QuickFIX owns what is rare: logon, logout, gaps, resend requests, sequence resets, test requests
// on silence, malformed messages. What is frequent never reaches it: application messages in
// sequence are parsed in the receive buffer, ours are encoded in the store's slot and written by
// send(); heartbeats and answers to test requests likewise. Both sides share one message store, so
// sequence numbers and resends are the same whoever sent.
//
// The same class is the initiator (oeg) and the acceptor (sim). It neither connects nor listens:
// a control thread does, and hands the connected socket to the polling thread, which calls
// attach().
//
// Threads: constructor and destructor on a control thread; everything else on the polling thread,
// except what says otherwise. Nothing here blocks. Allocation happens only inside a SessionScope
// (common/base/datapath_guard.hpp), where QuickFIX runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/counter.hpp"
#include "common/base/error.hpp"
#include "common/base/secret.hpp"
#include "common/base/units.hpp"
#include "common/fix/messages.hpp"
#include "common/fix/session_mirror.hpp"
#include "common/fix/session_times.hpp"

namespace tickpath::fix {

enum class SessionRole : std::uint8_t { kInitiator, kAcceptor };

struct SessionOptions {
  SessionRole role = SessionRole::kInitiator;
  Version version = Version::k42;
  std::string sender;              // SenderCompID (49) of what we send
  std::string target;              // TargetCompID (56)
  std::string store_path;          // file of the message store; created when missing
  std::uint32_t heartbeat_s = 10;  // HeartBtInt (108); the acceptor takes the initiator's
  std::uint32_t logon_timeout_s = 10;
  std::uint32_t logout_timeout_s = 2;
  // Messages kept for resend, a power of two, 640 bytes each. An older one that the peer asks for
  // is gap-filled. The initiator keeps its orders far longer than any gap lasts.
  std::uint32_t store_messages = 1u << 15;
  std::size_t receive_buffer_bytes = 1u << 20;
  // What the kernel did not take; when full, send() refuses.
  std::size_t send_buffer_bytes = 1u << 20;
  // Initiator: start every logon from sequence number 1 (ResetSeqNumFlag, 141=Y). Loses what the
  // peer still had to resend; for venues that demand it.
  bool reset_on_logon = false;
  // The peer's Logon may start the numbers anew (141=Y): whoever logs on that way takes the session
  // from its owner, who cannot log on any more. Else it is refused by a Logout. Of the initiator:
  // also without reset_on_logon.
  bool allow_reset = false;
  // FIX 4.4: each Logon says which number is expected next (789), and what the peer lacks by its
  // own is sent again at once, without a ResendRequest. For peers that do the same; with one that
  // does not say it everything is as without.
  bool next_expected = false;
  // The name and password in a Logon: sent by an initiator, asked for by an acceptor; empty:
  // neither. FIX 4.4: Username (553) and Password (554). FIX 4.2 has no such fields: there the
  // password is RawData (96), as is the custom, and the CompIDs are the name. In no log and in no
  // store.
  std::string username;
  Secret password;
  // Checks what the peer sends against the dictionary (dictionary.hpp) and refuses what breaks it;
  // but reports to the initiator are taken if what is read of them is right, and counted.
  bool validate = true;
  // How far SendingTime may be from our clock, in seconds: beyond it the message is rejected
  // (373=10) and the session ends. 0: it is not looked at.
  std::uint32_t sending_time_max_s = 0;
  // A gap in the peer's numbers of which nothing was filled for so long ends the session.
  std::uint32_t gap_timeout_s = 10;
  // What arrives behind a gap waits there; what finds no room is asked for once more.
  std::size_t gap_buffer_bytes = 1u << 18;
  // Outside of it a Logon is refused; at its end the session is logged out and both numbers begin
  // with 1. By CLOCK_REALTIME.
  SessionTimes times;
};

enum class SendStatus : std::uint8_t {
  kSent,    // handed to the kernel
  kQueued,  // in sequence, in our buffer: poll() writes it when the kernel takes more
  kStored,  // reports only: session down; the peer gets it by resend after its next logon
  kDown,    // requests: not logged on; no sequence number was used
  kFull,    // send buffer full (the peer does not read); no sequence number was used
};

// In sequence and safe: false for kDown and kFull.
constexpr bool accepted(SendStatus status) noexcept { return status <= SendStatus::kStored; }

// When the parts of a send happened, for trace stamps. TSC ticks.
struct SendTimes {
  TscTicks encoded;
  TscTicks mirrored;  // its mirror had it; 0: it has none, or the message waits
  TscTicks sent;
};

// What a received message came with.
struct MessageInfo {
  std::uint32_t seq_num;     // 34
  bool poss_dup;             // 43=Y: a resend; its sequence number was never processed before
  TscTicks received;         // right after the recv() that brought its last byte
  bool poss_resend = false;  // 97=Y: may repeat what another number brought
  std::string_view text{};   // the whole message; valid inside the callback
  bool routed = false;  // it has a route (115, 116, 144, 128, 129, 145), to be read from the text

  // The message may say what was said before.
  bool may_repeat() const noexcept { return poss_dup || poss_resend; }
};

// A request of ours that the peer has not processed and asks for again.
struct Resend {
  char msg_type = 0;            // 35: D, F, G, ...
  std::uint64_t cl_ord_id = 0;  // 11
  std::int64_t age_ns = 0;      // since it was sent first
};

// An application message of the peer that could not be used: what it says was not looked at.
struct RefusedMessage {
  std::string_view msg_type;  // 35
  std::uint32_t tag = 0;      // the field that is missing or wrong
  std::string_view why;
  std::uint64_t cl_ord_id = 0;  // 11, if it has one
};

// Receives what the peer says, inside poll(). Implementations send from inside as they like.
class Handler {
 public:
  virtual ~Handler() = default;
  // False: it has no room for what the next message may cause. Asked before each; those that have
  // arrived wait, in sequence, and then the peer does (TCP).
  virtual bool ready() noexcept { return true; }
  // Acceptor.
  virtual void on_new_order(const NewOrderSingle&, const MessageInfo&) noexcept {}
  virtual void on_cancel_request(const OrderCancelRequest&, const MessageInfo&) noexcept {}
  virtual void on_replace_request(const OrderCancelReplaceRequest&, const MessageInfo&) noexcept {}
  virtual void on_status_request(const OrderStatusRequest&, const MessageInfo&) noexcept {}
  virtual void on_mass_status(const OrderMassStatusRequest&, const MessageInfo&) noexcept {}  // 4.4
  virtual void on_mass_cancel(const OrderMassCancelRequest&, const MessageInfo&) noexcept {}  // 4.4
  // Initiator.
  virtual void on_execution_report(const ExecutionReport&, const MessageInfo&) noexcept {}
  virtual void on_cancel_reject(const OrderCancelReject&, const MessageInfo&) noexcept {}
  virtual void on_mass_cancel_report(const OrderMassCancelReport&, const MessageInfo&) noexcept {}
  // Either: the peer refused one of our messages as such.
  virtual void on_message_reject(const MessageReject&, const MessageInfo&) noexcept {}
  // Either: we refused one of theirs, by a Reject or Business Message Reject that is sent
  // meanwhile.
  virtual void on_refused(const RefusedMessage&, const MessageInfo&) noexcept {}
  // Initiator. False: the peer's gap is filled instead (SequenceReset), and the request has never
  // been made; reports are always sent again. Called inside poll().
  virtual bool may_resend(const Resend&) noexcept { return true; }
  // The session time is over: what is said now is the day's last word, if the peer is logged on;
  // else it is the next day's first.
  virtual void on_day_end() noexcept {}
  // Both numbers begin with 1, for a new day or by a Logon (141=Y); called before they do. What the
  // peer had still to send again under the old ones will not come.
  virtual void on_numbers_reset(bool /*new_day*/) noexcept {}
  virtual void on_logon() noexcept {}
  virtual void on_logout() noexcept {}  // logged out, or the connection was lost after a logon
};

// Gets the peer's reason (Text, 58) for a refusal or for the end of an order. Called inside poll(),
// ahead of the Handler's callback of the same message.
class TextSink {
 public:
  // cl_ord_id: of the request or order that it is about; 0: unknown. text: not empty.
  virtual void on_text(std::uint64_t cl_ord_id, std::string_view text) noexcept = 0;

 protected:
  ~TextSink() = default;
};

// Written by the polling thread; any thread reads.
struct SessionCounters {
  TICKPATH_COUNTERS(
      sent,               // messages with a sequence number of their own, admin included
      sent_in_place,      // of those, encoded here
      received,           // well-framed messages
      received_in_place,  // of those, handled without QuickFIX
      garbled,            // bad framing, length or checksum: disregarded (FIX 4.2, vol. 2)
      rejected,           // well-framed but malformed, or of unknown type: answered by a Reject
      too_long,           // read past, and answered by a Reject in their turn
      nonconforming,      // reports that break the dictionary in fields that are not read: taken
      send_refused,       // kDown and kFull
      stored_only,        // kStored
      forgotten,          // asked for by the peer, gone from the store, gap-filled
      resent,             // application messages, once more
      gaps,               // in the peer's numbers
      gap_overflows,      // messages behind a gap that found no room to wait
      gap_timeouts,       // sessions ended because of one that was not filled
      logons,
      bad_logons,  // refused by a Logout before QuickFIX saw them
      disconnects, bytes_sent, bytes_received);
};

class Session final : public MirroredStore {
 public:
  // Opens the store and creates the QuickFIX session. Throws SystemError or Error (path, CompIDs,
  // options out of range, a store of another session).
  explicit Session(const SessionOptions& options);
  ~Session();  // closes the socket without a logout
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes a connected stream socket (TCP, or a socketpair in tests) and owns it from now on; makes
  // it non-blocking, sets TCP_NODELAY. The initiator sends its Logon at once. False, and the socket
  // is closed, if one is attached already.
  bool attach(int socket) noexcept;

  // Writes what was left over, reads the socket once, dispatches, runs timers. Returns whether
  // anything was received or written. One system call when nothing is there.
  bool poll(Handler& handler) noexcept;

  // Requests: initiator. kDown unless logged on.
  SendStatus send(const NewOrderSingle& message, SendTimes* times = nullptr) noexcept;
  SendStatus send(const OrderCancelRequest& message, SendTimes* times = nullptr) noexcept;
  SendStatus send(const OrderCancelReplaceRequest& message, SendTimes* times = nullptr) noexcept;
  SendStatus send(const OrderStatusRequest& message, SendTimes* times = nullptr) noexcept;
  // FIX 4.4 alone: kDown in a 4.2 session.
  SendStatus send(const OrderMassCancelRequest& message, SendTimes* times = nullptr) noexcept;
  // Reports: acceptor. Kept for resend when the session is down.
  SendStatus send(const ExecutionReport& message, SendTimes* times = nullptr) noexcept;
  SendStatus send(const OrderCancelReject& message, SendTimes* times = nullptr) noexcept;
  SendStatus send(const OrderMassCancelReport& message, SendTimes* times = nullptr) noexcept;

  // Sends a Logout and closes when the peer has answered, or after logout_timeout_s. Keep polling
  // until !connected(). attach() starts anew.
  void logout(std::string_view reason) noexcept;
  // Closes the connection now, as if the peer had gone.
  void disconnect() noexcept;

  // Any thread: recent values.
  bool connected() const noexcept;
  bool logged_on() const noexcept;
  // A logon may succeed now. Without session times always.
  bool in_session_time() const noexcept;
  // Messages of the peer are missing, and asked for; what came behind them waits.
  bool behind_gap() const noexcept;
  // Next sequence numbers. Any thread: recent values.
  std::uint32_t next_sender_seq() const noexcept;
  std::uint32_t next_target_seq() const noexcept;
  // Before the first attach() only, by an owner whose own journal is ahead of the store: the peer's
  // messages below `seq` have been processed.
  void set_next_target_seq(std::uint32_t seq) noexcept;

  // Polling thread. Tells `mirror` what is written into the store from now on, and asks it before
  // bytes leave; nullptr: no longer. It outlives its being set.
  void set_mirror(SessionMirror* mirror) noexcept;
  // Polling thread, of an initiator; nullptr: nobody. It outlives its being set.
  void set_text_sink(TextSink* sink) noexcept;
  // MirroredStore: polling thread, of a session that was never attached.
  SessionNumbers numbers() const noexcept override {
    return {next_sender_seq(), next_target_seq(), began_ns()};
  }
  bool adopt_message(std::uint32_t seq, std::string_view message,
                     const SessionNumbers& numbers) noexcept override;
  void adopt_numbers(const SessionNumbers& numbers) noexcept override;
  void adopt_reset() noexcept override;
  // When a session with times began; CLOCK_REALTIME, 0: it has not.
  std::int64_t began_ns() const noexcept;
  // What the store holds under this number; empty: nothing.
  std::string_view stored(std::uint32_t seq) const noexcept;

  // The attached socket, -1 without: for a thread that parks in poll(2) on POLLIN (and POLLOUT
  // while wants_write()).
  int fd() const noexcept;
  bool wants_write() const noexcept;

  const SessionCounters& counters() const noexcept;

  // Control thread, every tick: the store's next pages take no page fault on the polling thread.
  void keep_store_writable() const noexcept;
  // Control thread: the next line that QuickFIX or the session had to say ("Received logon
  // response", "Disconnecting", ...). False when there is none. Lines are dropped when nobody
  // takes them.
  bool pop_event(std::string& line);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickpath::fix
