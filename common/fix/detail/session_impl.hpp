// What a Session is made of. session.cpp acquires and closes, session_datapath.cpp runs.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "common/base/cpu.hpp"
#include "common/base/datapath_guard.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/clock/clock.hpp"
#include "common/fix/codec.hpp"
#include "common/fix/detail/gap_buffer.hpp"
#include "common/fix/detail/logon_rules.hpp"
#include "common/fix/detail/long_message.hpp"
#include "common/fix/detail/message_store.hpp"
#include "common/fix/detail/quickfix_bridge.hpp"
#include "common/fix/detail/sender_clock.hpp"
#include "common/fix/session.hpp"

namespace tickpath::fix {
namespace detail {

// Session-level messages: their numbers are filled (FIX 4.2 and 4.4, vol. 2, Resend Request). So
// are those of Rejects, which may be sent again but need not.
constexpr bool is_admin(char msg_type) noexcept {
  return (msg_type >= '0' && msg_type <= '5') || msg_type == 'A';
}

// The greatest number of a message, and the greatest that a peer may set (NewSeqNo, 36). QuickFIX
// counts in int, and the next number must fit.
inline constexpr std::uint32_t kSeqNumMax = 0x7fff'fffe;

}  // namespace detail

// One line for the control thread's log.
struct EventLine {
  // What QuickFIX says fits; a longer line is cut.
  static constexpr std::size_t kTextBytes = 252;
  std::uint32_t length;
  char text[kTextBytes];
};

class Session::Impl final : public detail::BridgeHooks {
 public:
  explicit Impl(const SessionOptions& options);
  ~Impl() override;

  bool attach(int socket) noexcept;
  bool poll(Handler& handler) noexcept;
  void logout(std::string_view reason) noexcept;
  void disconnect() noexcept;
  bool pop_event(std::string& line);

  template <class Message>
  SendStatus send_request(const Message& message, SendTimes* times) noexcept;
  template <class Message>
  SendStatus send_report(const Message& message, SendTimes* times) noexcept;

  // Relaxed, here and where they are set: readers on other threads want a recent value.
  bool connected() const noexcept { return connected_.load(std::memory_order_relaxed); }
  bool logged_on() const noexcept { return logged_on_.load(std::memory_order_relaxed); }
  bool in_session_time() const noexcept { return in_session_time_.load(std::memory_order_relaxed); }
  bool behind_gap() const noexcept { return behind_gap_.load(std::memory_order_relaxed); }
  int fd() const noexcept { return fd_; }
  Version version() const noexcept { return options_.version; }
  bool wants_write() const noexcept { return pending_bytes() != 0; }
  detail::MessageStore& store() noexcept { return store_; }
  bool adopt_message(std::uint32_t seq, std::string_view message,
                     const SessionNumbers& numbers) noexcept;
  void adopt_numbers(const SessionNumbers& numbers) noexcept;
  void adopt_reset() noexcept;
  void set_mirror(SessionMirror* mirror) noexcept {
    mirror_ = mirror;
    store_.set_mirror(mirror);
  }
  void set_text_sink(TextSink* sink) noexcept { text_sink_ = sink; }
  const SessionCounters& counters() const noexcept { return counters_; }

  // detail::BridgeHooks: called by QuickFIX, inside a call of ours.
  bool store_put(int seq, const char* message, std::size_t length) override;
  int next_sender() const override { return static_cast<int>(store_.next_sender()); }
  int next_target() const override { return static_cast<int>(store_.next_target()); }
  void set_next_sender(int seq) override { store_.set_next_sender(static_cast<unsigned>(seq)); }
  void set_next_target(int seq) override { store_.set_next_target(static_cast<unsigned>(seq)); }
  void store_reset() override;
  bool write(const char* bytes, std::size_t length) override;
  std::string sending_time() override { return {utc_now(), UtcText::kLength}; }
  void close_transport() override;
  void on_logon() override;
  void on_logout() override;
  void on_event(const char* text, std::size_t length) override;
  detail::AppVerdict on_app_message(const char* message, std::size_t length) override;
  void on_session_reject(const char* message, std::size_t length) override;
  bool on_resend_request(int begin, int end) override;

 private:
  // Calls QuickFIX with its clocks brought up to date, then reads back what became of the session.
  template <class Work>
  void quickfix(Work&& work) noexcept;

  bool receive() noexcept;
  void dispatch() noexcept;
  void handle(std::string_view message) noexcept;
  bool for_quickfix(std::string_view message) noexcept;
  // peer_expects: 789; 0: not said.
  bool takes_logon(std::string_view message, std::uint32_t& peer_expects) noexcept;
  void resend_unasked(std::uint32_t peer_expects, std::uint32_t next_before) noexcept;
  void refuse_logon(std::string_view why) noexcept;
  bool in_sequence() noexcept;
  bool is_peers() const noexcept;
  bool is_on_time() noexcept;
  bool is_far_off(std::string_view sending_time) noexcept;
  bool refused_by_dictionary(std::string_view message) noexcept;
  bool refused_as_business(const DecodeResult& result) noexcept;
  void refuse_as_business(BusinessRejectReason reason, std::string_view text,
                          std::uint32_t tag) noexcept;
  bool handle_in_place() noexcept;
  bool answer_test_request() noexcept;
  bool reject_unreadable() noexcept;

  // session_long.cpp: messages that are longer than is read.
  void begin_long(std::size_t length) noexcept;
  void read_past(std::string_view bytes) noexcept;
  void take_long() noexcept;
  void refuse_long() noexcept;
  void tell_long() noexcept;

  // session_gaps.cpp: what the peer has to send again, and what we have.
  bool waits_behind_gap(std::string_view message) noexcept;
  void ask_for_what_is_before(std::uint32_t seq, std::string_view message) noexcept;
  void ask_for_what_is_before(std::uint32_t seq) noexcept;
  // intact: not garbled, so that a Logon in it would be taken.
  void to_quickfix(std::string_view message, bool intact = true) noexcept;
  bool take_waiting() noexcept;
  void watch_gap(TscTicks now) noexcept;
  void begin_resend(std::uint32_t begin, std::uint32_t end) noexcept;
  bool resend_some() noexcept;
  void resend_next() noexcept;
  void resend(std::string_view message) noexcept;
  void fill_gap() noexcept;
  bool may_resend(std::uint32_t seq, const Fields& fields) noexcept;
  bool has_room_beside_resend() const noexcept;
  void forget_gaps() noexcept;
  void withdraw_logon() noexcept;

  // session_day.cpp
  void watch_day() noexcept;
  void show_session_time(std::int64_t now_ns) noexcept;
  void end_day() noexcept;
  void begin_numbers_anew() noexcept;

  template <class Message>
  bool deliver(Message& message,
               void (Handler::*callback)(const Message&, const MessageInfo&) noexcept,
               DecodeResult& result) noexcept;
  bool deliver_application(DecodeResult& result) noexcept;
  void hand_over_text() noexcept;
  void tell_refused(std::uint32_t tag, std::string_view why) noexcept;
  void take_info(std::string_view message) noexcept;
  bool is_ours_to_take(char msg_type) const noexcept;

  template <class Message>
  SendStatus encode_and_send(const Message& message, bool transmit_now, SendTimes* times) noexcept;
  void send_heartbeat(std::string_view test_request_id) noexcept;
  template <class Encode>
  void send_admin(Encode&& encode) noexcept;
  bool transmit(const char* bytes, std::size_t length) noexcept;
  void keep(const char* bytes, std::size_t length) noexcept;
  bool flush() noexcept;
  void timers(TscTicks now) noexcept;
  void drop(std::string_view why) noexcept;
  const char* utc_now() noexcept;
  bool may_transmit() noexcept {
    if (mirror_ == nullptr) [[likely]]
      return true;
    const bool may = mirror_->may_transmit();
    mirrored_ = may ? tsc_now() : TscTicks{};
    return may;
  }
  std::size_t pending_bytes() const noexcept { return tx_end_ - tx_begin_; }
  TscTicks ticks(double seconds) const noexcept {
    return converter_.from_ns(static_cast<std::uint64_t>(seconds * 1e9));
  }

  const SessionOptions options_;
  const detail::LogonRules logon_rules_;
  detail::MessageStore store_;
  Encoder encoder_;
  UtcText utc_;
  clock::TickConverter converter_;
  clock::Pair base_;  // where SendingTime counts from, renewed by timers()
  SessionCounters counters_;
  SpscRing<EventLine> events_;

  std::vector<char> rx_;
  std::size_t rx_begin_ = 0;
  bool held_ = false;  // the handler is not ready for what stands in rx_
  std::size_t rx_end_ = 0;
  std::vector<char> tx_;  // bytes that the kernel did not take, from tx_begin_ to tx_end_
  std::size_t tx_begin_ = 0;
  std::size_t tx_end_ = 0;

  Fields fields_;  // of the message being handled
  MessageInfo info_{};
  Handler* handler_ = nullptr;   // inside poll() only
  bool logout_untold_ = false;   // a logout happened outside poll()
  bool broken_ = false;          // the kernel reported an error while sending
  bool logout_pending_ = false;  // as QuickFIX said last

  detail::SenderClock sender_clock_;  // of a former leader, whose messages stand in the store

  detail::LongMessage long_;
  detail::GapBuffer waiting_;
  std::atomic<bool> behind_gap_{false};  // as QuickFIX said last
  std::uint32_t gap_next_ = 0;           // the first missing number when timers() looked last
  TscTicks gap_since_;                   // it has been that

  struct Range {
    std::uint32_t begin = 0;  // 0: none
    std::uint32_t end = 0;    // the last one
  };
  // A resend under way stands at resend_.begin. The peer has never been sent what was given a
  // number since it began (fresh_from_): that follows it, so that nothing overtakes.
  Range resend_;
  std::uint32_t fresh_from_ = 0;
  std::uint32_t fill_from_ = 0;  // 0, or where a run of numbers begins that is not sent again
  Range asked_meanwhile_;        // by further requests, all in one

  std::atomic<bool> in_session_time_{true};
  bool day_ends_ = false;  // its last word is said, the answer to our Logout is awaited
  TscTicks day_ends_since_;
  std::uint32_t stored_from_ = 0;  // 0, or the first report that the peer was not there to get
  bool reset_untold_ = false;      // the numbers began anew outside poll()

  bool received_since_sync_ = false;
  int fd_ = -1;
  std::uint32_t refusals_told_ = 0;  // Logons refused by a Logout since one was taken
  // The number of a Logon that nobody has answered yet.
  std::uint32_t logon_seq_ = 0;
  std::uint32_t logons_repeated_ = 0;  // with the same number, in a row
  bool heard_ = false;                 // anything, on this connection
  std::uint64_t heartbeat_ticks_ = 0;
  TscTicks attached_;
  TscTicks last_sent_;
  SessionMirror* mirror_ = nullptr;
  TextSink* text_sink_ = nullptr;
  TscTicks mirrored_;
  TscTicks last_received_;
  TscTicks next_timer_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> logged_on_{false};

  detail::QuickFixBridge bridge_;  // last: it uses the hooks above from its construction on
};

template <class Work>
void Session::Impl::quickfix(Work&& work) noexcept {
  SessionScope allocating;  // QuickFIX allocates; this is the rare path
  const TscTicks now = tsc_now();
  bridge_.sync_activity(static_cast<std::int64_t>(converter_.to_ns(now - last_sent_)),
                        static_cast<std::int64_t>(converter_.to_ns(now - last_received_)),
                        std::exchange(received_since_sync_, false));
  work();
  logged_on_.store(bridge_.logged_on(), std::memory_order_relaxed);
  const bool missing = bridge_.resend_pending();
  if (missing && !behind_gap()) counters_.gaps.add();
  behind_gap_.store(missing, std::memory_order_relaxed);
  logout_pending_ = bridge_.logout_pending();
}

template <class Encode>
void Session::Impl::send_admin(Encode&& encode) noexcept {
  // Full: the peer does not read, so it misses nothing; its silence ends the session soon.
  if (pending_bytes() + kMessageBytesMax > options_.send_buffer_bytes) return;
  char* const out = store_.begin_message();
  const std::size_t length = encode(out, store_.next_sender(), utc_now());
  store_.commit(length);
  counters_.sent.add();
  counters_.sent_in_place.add();
  transmit(out, length);
}

}  // namespace tickpath::fix
