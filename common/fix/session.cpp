#include "common/fix/session.hpp"

#include <algorithm>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock/virtual_time.hpp"
#include "common/fix/detail/session_impl.hpp"
#include "common/net/loopback_sockets.hpp"

namespace tickpath::fix {
namespace {

// Lines kept for the control thread; a logon with its resends takes about ten.
constexpr std::size_t kEventLines = 256;
// Longest Username and Password: a Logon is a message as any other.
constexpr std::size_t kCredentialMax = 64;

// How often in a row a Logon that found no answer is sent with the same number.
constexpr std::uint32_t kLogonRepeatsMax = 3;

// Every reason a session could not work with, before anything is opened.
const SessionOptions& checked(const SessionOptions& options) {
  const auto comp_id = [](const std::string& value, const char* name) {
    if (value.empty() || value.size() > kCompIdMax ||
        value.find_first_of(std::string("\x01=", 2)) != std::string::npos)
      throw Error(std::string("FIX ") + name + " '" + value + "': 1 to " +
                  std::to_string(kCompIdMax) + " characters without '=' are needed");
  };
  comp_id(options.sender, "SenderCompID");
  comp_id(options.target, "TargetCompID");
  if (options.heartbeat_s < 1 || options.heartbeat_s > 3600)
    throw Error("FIX heartbeat must be 1 s to 3600 s");
  if (options.sending_time_max_s > 86'400)
    throw Error("the FIX SendingTime may differ by at most 86400 s, or by any (0)");
  if (options.gap_timeout_s < 1 || options.gap_timeout_s > 3600)
    throw Error("the FIX gap timeout must be 1 s to 3600 s");
  const auto secret = [](const std::string& value, const char* name) {
    if (value.size() > kCredentialMax ||
        std::any_of(value.begin(), value.end(), [](char c) { return c >= 0 && c < ' '; }))
      throw Error(std::string("the FIX ") + name + " has more than " +
                  std::to_string(kCredentialMax) + " characters, or one that does not print");
  };
  secret(options.username, "Username");
  secret(options.password.reveal(), "Password");
  if (!options.username.empty() && (options.password.empty() || options.version == Version::k42))
    throw Error("a FIX Username goes with a Password, and is of FIX 4.4 alone");
  if (options.next_expected && options.version == Version::k42)
    throw Error("NextExpectedMsgSeqNum (789) is of FIX 4.4 alone");
  if (options.receive_buffer_bytes < 65536 || options.send_buffer_bytes < 65536)
    throw Error("FIX receive and send buffers need at least 65536 bytes");
  return options;
}

detail::BridgeOptions bridge_options(const SessionOptions& options) {
  detail::BridgeOptions bridge;
  bridge.initiator = options.role == SessionRole::kInitiator;
  bridge.begin_string = begin_string(options.version);
  bridge.sender = options.sender;
  bridge.target = options.target;
  bridge.heartbeat_s = static_cast<int>(options.heartbeat_s);
  bridge.logon_timeout_s = static_cast<int>(options.logon_timeout_s);
  bridge.logout_timeout_s = static_cast<int>(options.logout_timeout_s);
  // QuickFIX looks at the host's clock; in virtual time there is none that could be wrong.
  bridge.sending_time_max_s =
      clock::is_virtual() ? 0 : static_cast<int>(options.sending_time_max_s);
  bridge.username = options.username;
  bridge.password = options.password.reveal();  // C++14 there, which has no Secret
  bridge.next_expected = options.next_expected;
  bridge.reset_on_logon = bridge.initiator && options.reset_on_logon;
  return bridge;
}

detail::LogonRules logon_rules(const SessionOptions& options) {
  detail::LogonRules rules;
  // A venue answers our own reset by one.
  rules.allow_reset =
      options.allow_reset || (options.role == SessionRole::kInitiator && options.reset_on_logon);
  rules.next_expected = options.next_expected;
  if (options.role == SessionRole::kInitiator) return rules;
  rules.username = options.username;
  rules.password = options.password;
  rules.password_tag = options.version == Version::k44 ? 554 : 96;
  return rules;
}

}  // namespace

Session::Impl::Impl(const SessionOptions& options)
    : options_(checked(options)),
      logon_rules_(logon_rules(options)),
      store_(options.store_path, options.store_messages, options.sender, options.target),
      encoder_(options.sender, options.target, options.version),
      base_(clock::read_pair()),
      events_(kEventLines),
      rx_(options.receive_buffer_bytes),
      tx_(options.send_buffer_bytes),
      waiting_(options.gap_buffer_bytes),
      bridge_(bridge_options(options), *this) {
  show_session_time(base_.realtime_ns);
  utc_.at(base_.realtime_ns);  // the first use of gmtime_r reads the zone settings: not later
}

Session::Impl::~Impl() {
  net::LoopbackSockets::forget(fd_);
  if (fd_ >= 0) ::close(fd_);
}

bool Session::Impl::attach(int socket) noexcept {
  const SessionScope once;  // the socket's options cost system calls, for each connection
  // Outside of the session time an initiator has nobody to greet; an acceptor says so (58).
  const bool greets = options_.role == SessionRole::kInitiator;
  if (fd_ >= 0 || (greets && !in_session_time())) {
    ::close(socket);
    return false;
  }
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  const int on = 1;  // fails on a socketpair, which needs no such option
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fd_ = socket;
  rx_begin_ = rx_end_ = tx_begin_ = tx_end_ = 0;
  held_ = false;
  long_.clear();
  broken_ = false;
  forget_gaps();
  logout_pending_ = false;
  attached_ = last_sent_ = last_received_ = tsc_now();
  received_since_sync_ = true;
  connected_.store(true, std::memory_order_relaxed);
  logon_seq_ = store_.next_sender();
  heard_ = false;
  quickfix([this] { bridge_.attach(); });
  return true;
}

void Session::Impl::logout(std::string_view reason) noexcept {
  if (fd_ < 0) return;
  quickfix([&] { bridge_.logout(reason.data(), reason.size()); });
}

void Session::Impl::disconnect() noexcept {
  if (fd_ >= 0) quickfix([this] { bridge_.disconnect(); });
}

void Session::Impl::close_transport() {
  if (fd_ < 0) return;
  if (!broken_) flush();  // a Logout may still wait here
  net::LoopbackSockets::forget(fd_);
  ::close(fd_);
  fd_ = -1;
  rx_begin_ = rx_end_ = tx_begin_ = tx_end_ = 0;
  held_ = false;
  long_.clear();
  forget_gaps();
  withdraw_logon();
  counters_.disconnects.add();
  connected_.store(false, std::memory_order_relaxed);
}

// A connection that ends before a word of the peer: its session layer has hardly seen our Logon,
// and the next one has the same number. If it has, and only its answer was lost, it says that the
// number is too low, or says nothing: then the number stays used. A number too high does no harm:
// the peer asks, and is told of the gap (FIX 4.2 and 4.4, vol. 2, Logon).
void Session::Impl::withdraw_logon() noexcept {
  const bool unanswered =
      options_.role == SessionRole::kInitiator && !heard_ && store_.next_sender() == logon_seq_ + 1;
  if (!unanswered || logons_repeated_ == kLogonRepeatsMax) {
    logons_repeated_ = 0;
    return;
  }
  ++logons_repeated_;
  store_.set_next_sender(logon_seq_);
}

bool Session::Impl::store_put(int seq, const char* message, std::size_t length) {
  const auto number = static_cast<std::uint32_t>(seq);
  const std::string_view text(message, length);
  const bool secret =
      !options_.password.empty() && text.find("\00135=A\001") != std::string_view::npos;
  if (!secret && store_.put(number, text)) return true;
  // A Logon with a password, or too long for a slot: an administrative message with a long text. A
  // resend would skip it, and a heartbeat of the same number is skipped just so.
  char stand_in[kMessageBytesMax];
  return store_.put(number, {stand_in, encoder_.encode_heartbeat(stand_in, {}, number, utc_now())});
}

void Session::Impl::store_reset() {
  if (handler_ != nullptr)
    handler_->on_numbers_reset(false);
  else
    reset_untold_ = true;
  const std::int64_t began = store_.began_ns();
  store_.reset();
  sender_clock_.forget();
  store_.set_began_ns(began);
  forget_gaps();
}

void Session::Impl::on_logon() {
  refusals_told_ = 0;
  heartbeat_ticks_ = ticks(bridge_.heartbeat_s()).value;
  logged_on_.store(true, std::memory_order_relaxed);
  stored_from_ = 0;  // from now on it asks for what it lacks
  counters_.logons.add();
  if (handler_ != nullptr) handler_->on_logon();
}

void Session::Impl::on_logout() {
  const bool was_on = logged_on_.exchange(false, std::memory_order_relaxed);
  if (!was_on) return;  // the logon never succeeded
  if (handler_ != nullptr)
    handler_->on_logout();
  else
    logout_untold_ = true;
}

void Session::Impl::on_event(const char* text, std::size_t length) {
  EventLine line;
  line.length = static_cast<std::uint32_t>(std::min(length, EventLine::kTextBytes));
  std::memcpy(line.text, text, line.length);
  // Full: nobody reads the log, so the line is of no use either.
  (void)events_.try_push(line);
}

bool Session::Impl::pop_event(std::string& line) {
  EventLine next;
  if (!events_.try_pop(next)) return false;
  line.assign(next.text, next.length);
  return true;
}

// ------------------------------------------------------------------------------- the public face

Session::Session(const SessionOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Session::~Session() = default;
bool Session::attach(int socket) noexcept { return impl_->attach(socket); }
bool Session::poll(Handler& handler) noexcept { return impl_->poll(handler); }
void Session::logout(std::string_view reason) noexcept { impl_->logout(reason); }
void Session::disconnect() noexcept { impl_->disconnect(); }
bool Session::connected() const noexcept { return impl_->connected(); }
bool Session::logged_on() const noexcept { return impl_->logged_on(); }
bool Session::in_session_time() const noexcept { return impl_->in_session_time(); }
bool Session::behind_gap() const noexcept { return impl_->behind_gap(); }
void Session::keep_store_writable() const noexcept { impl_->store().keep_writable(); }
std::uint32_t Session::next_sender_seq() const noexcept { return impl_->store().next_sender(); }
std::uint32_t Session::next_target_seq() const noexcept { return impl_->store().next_target(); }
void Session::set_next_target_seq(std::uint32_t seq) noexcept {
  impl_->store().set_next_target(seq);
}
void Session::set_mirror(SessionMirror* mirror) noexcept { impl_->set_mirror(mirror); }
void Session::set_text_sink(TextSink* sink) noexcept { impl_->set_text_sink(sink); }
bool Session::adopt_message(std::uint32_t seq, std::string_view message,
                            const SessionNumbers& numbers) noexcept {
  return impl_->adopt_message(seq, message, numbers);
}
void Session::adopt_numbers(const SessionNumbers& numbers) noexcept {
  impl_->adopt_numbers(numbers);
}
void Session::adopt_reset() noexcept { impl_->adopt_reset(); }
std::int64_t Session::began_ns() const noexcept { return impl_->store().began_ns(); }
std::string_view Session::stored(std::uint32_t seq) const noexcept {
  return impl_->store().get(seq);
}
int Session::fd() const noexcept { return impl_->fd(); }
bool Session::wants_write() const noexcept { return impl_->wants_write(); }
const SessionCounters& Session::counters() const noexcept { return impl_->counters(); }
bool Session::pop_event(std::string& line) { return impl_->pop_event(line); }

}  // namespace tickpath::fix
