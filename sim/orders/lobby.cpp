#include "sim/orders/lobby.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/fix/codec.hpp"
#include "common/log/log.hpp"

namespace tickpath::sim {
namespace {

// A Logon has some hundred bytes; what is longer before its end is none.
constexpr std::size_t kLogonBytesMax = 4'096;

// Zeros: no Internet address (a socketpair, in tests).
net::Endpoint peer_of(int socket) noexcept {
  sockaddr_in from{};
  socklen_t bytes = sizeof from;
  const bool known = ::getpeername(socket, reinterpret_cast<sockaddr*>(&from), &bytes) == 0;
  if (!known || from.sin_family != AF_INET) return {};
  return {ntohl(from.sin_addr.s_addr), ntohs(from.sin_port)};
}

bool gives_password(std::string_view logon, const LobbySession& session) noexcept {
  if (session.password.empty()) return true;
  fix::Fields fields;
  const fix::Frame frame = fix::frame(logon, kLogonBytesMax);
  if (frame.status != fix::FrameStatus::kMessage || !fields.scan(logon.substr(0, frame.length)))
    return false;
  const std::uint32_t tag = session.version == fix::Version::k44 ? 554 : 96;
  return fields.get(tag) == session.password.reveal();
}

}  // namespace

Lobby::Lobby(LobbyOptions options, Watch watch, std::function<Slot(std::size_t)> slot,
             std::function<void(std::size_t, int)> admit)
    : options_(std::move(options)),
      watch_(std::move(watch)),
      slot_(std::move(slot)),
      admit_(std::move(admit)),
      admitted_(options_.sessions.size()),
      session_counters_(options_.sessions.size()) {}

Lobby::Words Lobby::first_words(std::string_view bytes, const LobbyOptions& options,
                                std::size_t& session) noexcept {
  const fix::Frame frame = fix::frame(bytes, kLogonBytesMax);
  if (frame.status == fix::FrameStatus::kIncomplete)
    return bytes.size() < kLogonBytesMax ? Words::kNotYet : Words::kOther;
  fix::Fields fields;
  if (frame.status != fix::FrameStatus::kMessage || !fields.scan(bytes.substr(0, frame.length)) ||
      fields.msg_type() != 'A')
    return Words::kOther;
  const auto found = std::ranges::find_if(options.sessions, [&](const LobbySession& each) {
    return fields.get(8) == fix::begin_string(each.version) && fields.get(49) == each.target &&
           fields.get(56) == each.sender;
  });
  session = static_cast<std::size_t>(found - options.sessions.begin());
  return found != options.sessions.end() ? Words::kLogon : Words::kOther;
}

void Lobby::accept(int socket) {
  counters_.connections.add();
  const net::Endpoint from = peer_of(socket);
  make_room(from.address);
  guests_.push_back({net::FileDescriptor(socket), from, Clock::now(), false, 0, false, false, {}});
  const Place guest = std::prev(guests_.end());
  guest->watch = watch_(socket, [this, guest] { look(guest); });
  look(guest);
}

void Lobby::make_room(std::uint32_t address) {
  const auto same = [address](const Guest& guest) { return guest.from.address == address; };
  const std::string_view why = "made room for another that connected";
  const std::size_t sessions = options_.sessions.size();
  if (static_cast<std::size_t>(std::ranges::count_if(guests_, same)) >=
      options_.address_max * sessions)
    dismiss(std::ranges::find_if(guests_, same), counters_.crowded_out, why);
  else if (guests_.size() >= options_.waiting_max * sessions)
    dismiss(guests_.begin(), counters_.crowded_out, why);
}

// Leaves in the socket what it reads: the session is to read it.
void Lobby::look(Place guest) {
  if (guest->ready) return;
  std::array<char, kLogonBytesMax> bytes;
  const ssize_t got =
      ::recv(guest->socket.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return dismiss(guest, counters_.strangers, "left without a Logon");
  switch (first_words({bytes.data(), static_cast<std::size_t>(got)}, options_, guest->session)) {
    case Words::kNotYet:
      return;
    case Words::kOther:
      return dismiss(guest, counters_.strangers, "did not begin with the Logon of a peer");
    case Words::kLogon:
      guest->ready = true;
      guest->may_replace = gives_password({bytes.data(), static_cast<std::size_t>(got)},
                                          options_.sessions[guest->session]);
      return decide(guest);
  }
}

void Lobby::decide(Place guest) {
  const std::size_t session = guest->session;
  LobbySessionCounters& counters = session_counters_[session];
  switch (slot_(session)) {
    case Slot::kLoggedOn:
      if (guest->replaces || replace(guest)) return;  // a turn later it is gone
      return dismiss(guest, counters.refused_logons, "wanted to log on a second time");
    case Slot::kTaken:  // by one whose Logon is being answered: a turn later it is on, or gone
      return;
    case Slot::kFree:
      break;
  }
  const LobbySession& options = options_.sessions[session];
  if (const std::string why = options.peers.refusal_of_client(guest->socket.get()); !why.empty())
    return dismiss(guest, counters.wrong_peers,
                   "wanted to log on as " + options.target + " and was refused: " + why);
  counters.admitted.add();
  if (options.second_logon == SecondLogon::kReplace)
    admitted_[session] = net::FileDescriptor(::fcntl(guest->socket.get(), F_DUPFD_CLOEXEC, 0));
  net::FileDescriptor socket = std::move(guest->socket);
  guests_.erase(guest);
  admit_(session, socket.release());
}

// What the older connection has sent is read to its end; whoever still has it can send no more.
bool Lobby::replace(Place guest) {
  const LobbySession& session = options_.sessions[guest->session];
  net::FileDescriptor& older = admitted_[guest->session];
  if (session.second_logon != SecondLogon::kReplace || !guest->may_replace || older.get() < 0 ||
      !session.peers.refusal_of_client(guest->socket.get()).empty())
    return false;
  guest->replaces = true;
  session_counters_[guest->session].replaced.add();
  log::warning("{}: {} logs on again, from {}: its older connection is ended", options_.name,
               session.target, guest->from.text());
  ::shutdown(older.get(), SHUT_RDWR);
  older = net::FileDescriptor();
  return true;
}

bool Lobby::replacing() const noexcept {
  return std::ranges::any_of(guests_, [](const Guest& guest) { return guest.replaces; });
}

void Lobby::turn(Clock::time_point now) {
  for (Place at = guests_.begin(); at != guests_.end();) {
    const Place guest = at++;
    if (guest->ready)
      decide(guest);
    else if (now - guest->since >= options_.patience)
      dismiss(guest, counters_.silent, "said nothing in time");
  }
  if (const std::uint64_t unsaid = budget_.take_unsaid(now); unsaid != 0)
    log::info("{}: {} more connections came to nothing", options_.name, unsaid);
}

void Lobby::dismiss(Place guest, Counter& cause, std::string_view why) {
  cause.add();
  if (budget_.take(Clock::now()))
    log::info("{}: a connection from {} {}", options_.name, guest->from.text(), why);
  guests_.erase(guest);
}

void Lobby::close() {
  guests_.clear();
  for (net::FileDescriptor& socket : admitted_) socket = net::FileDescriptor();
}

}  // namespace tickpath::sim
