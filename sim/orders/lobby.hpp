// Connections to the port of one or more order sessions that have not logged on. They hold nothing:
// a session goes to whoever's first message is a Logon of its peer, from where and as whom its peer
// may come, and everybody else waits here, for a while and in bounded number. Control thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/log_budget.hpp"
#include "common/base/secret.hpp"
#include "common/control/runtime.hpp"
#include "common/fix/messages.hpp"
#include "common/net/endpoint.hpp"
#include "common/net/file_descriptor.hpp"
#include "common/net/peer_rule.hpp"

namespace tickpath::sim {

// What becomes of a Logon of a peer whose session is logged on.
enum class SecondLogon : std::uint8_t {
  kRefuse,
  kReplace,  // it ends the older connection, as at venues whose clients fail over
};

// A Logon is its session's by version and CompIDs.
struct LobbySession {
  std::string sender;  // ours, to which a Logon is addressed (56)
  std::string target;  // the peer's (49)
  fix::Version version = fix::Version::k42;
  net::PeerRule peers{};
  SecondLogon second_logon = SecondLogon::kRefuse;
  // That a Logon has to give before it may end another connection; empty: none is asked for.
  Secret password{};
};

struct LobbyOptions {
  std::string name;  // of the port, in log lines
  std::vector<LobbySession> sessions;
  // From the connection to the Logon; an acceptor of QuickFIX waits as long.
  std::chrono::milliseconds patience{10'000};
  // Beyond either the one that has waited longest has to go: whoever means to log on does so at
  // once, so that nobody is kept out by those who only connect. For each session.
  std::size_t waiting_max = 16;
  std::size_t address_max = 8;
};

// Any thread reads.
struct LobbyCounters {
  TICKPATH_COUNTERS(connections,
                    strangers,  // whose first words were no Logon of a session's peer
                    silent,     // that said nothing
                    crowded_out);
};
// Counts a session's connections: those that began with its Logon.
struct LobbySessionCounters {
  TICKPATH_COUNTERS(admitted,        // handed over with their Logon unread
                    refused_logons,  // while the session was logged on
                    replaced,        // connections that another Logon has ended
                    wrong_peers);    // of another address or user
};

class Lobby {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Slot : std::uint8_t { kFree, kTaken, kLoggedOn };
  using Watch = std::function<control::Subscription(int, std::function<void()>)>;

  // watch: calls back when there may be something to read. slot: of a session, as it is now. admit:
  // takes over the socket. Sessions by their place in the options.
  Lobby(LobbyOptions options, Watch watch, std::function<Slot(std::size_t session)> slot,
        std::function<void(std::size_t session, int socket)> admit);

  // Takes over a connected socket.
  void accept(int socket);
  // Now and then: those whose time is over, and those who wait for a session that was just taken.
  void turn(Clock::time_point now);
  void close();

  // One waits for a connection to end that it replaces: turn() soon.
  bool replacing() const noexcept;

  std::size_t waiting() const noexcept { return guests_.size(); }
  const LobbyCounters& counters() const noexcept { return counters_; }
  const LobbySessionCounters& counters(std::size_t session) const noexcept {
    return session_counters_[session];
  }

  // What a connection has said first.
  enum class Words : std::uint8_t { kNotYet, kLogon, kOther };
  static Words first_words(std::string_view bytes, const LobbyOptions& options,
                           std::size_t& session) noexcept;

 private:
  struct Guest {
    net::FileDescriptor socket;
    net::Endpoint from;
    Clock::time_point since;
    bool ready = false;        // its Logon is there
    std::size_t session = 0;   // of which it is
    bool may_replace = false;  // it has the password
    bool replaces = false;     // the older connection is being ended
    control::Subscription watch;
  };
  using Place = std::list<Guest>::iterator;

  void make_room(std::uint32_t address);
  void look(Place guest);
  void decide(Place guest);
  bool replace(Place guest);
  void dismiss(Place guest, Counter& cause, std::string_view why);

  LobbyOptions options_;
  Watch watch_;
  std::function<Slot(std::size_t)> slot_;
  std::function<void(std::size_t, int)> admit_;
  std::list<Guest> guests_;                    // the longest first
  std::vector<net::FileDescriptor> admitted_;  // another descriptor of each session's connection
  LogBudget budget_;
  LobbyCounters counters_;
  std::vector<LobbySessionCounters> session_counters_;
};

}  // namespace tickpath::sim
