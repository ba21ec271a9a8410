#include "sim/snapshot/snapshot_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "common/base/cpu.hpp"
#include "common/base/log_budget.hpp"
#include "common/feeds/itch/soupbintcp.hpp"
#include "common/log/log.hpp"
#include "common/net/socket_owner.hpp"
#include "sim/snapshot/glimpse_book.hpp"

namespace tickpath::sim {
namespace {

namespace asio = boost::asio;
namespace soup = itch::soup;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// Messages followed between two looks at the sockets: a few milliseconds at most.
constexpr std::size_t kFollowMax = 65'536;
// Between two looks at the queue: while a client waits, and else. In the latter time the fastest
// replay fills a few of the queue's blocks.
constexpr std::chrono::milliseconds kPollWanted{1};
constexpr std::chrono::milliseconds kPollIdle{10};
// A client sends a login, heartbeats and a logout.
constexpr std::size_t kReadBytes = 1'024;

// SoupBinTCP 3.00, 2.3.1: names and passwords are case-insensitive. An empty one is not asked for.
template <std::size_t N>
bool matches(const std::string& wanted, const itch::Alpha<N>& given) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return wanted.empty() || std::ranges::equal(wanted, given.view(), {}, lower, lower);
}

// A client is known by its address; on this host, where all have the same one, its user.
std::string peer_of(const tcp::socket& socket) {
  error_code gone;
  const tcp::endpoint theirs = socket.remote_endpoint(gone), ours = socket.local_endpoint(gone);
  if (gone || !theirs.address().is_v4() || !ours.address().is_v4()) return "?";
  const std::optional<uid_t> user =
      net::socket_owner({theirs.address().to_v4().to_uint(), theirs.port()},
                        {ours.address().to_v4().to_uint(), ours.port()});
  return user ? "user " + std::to_string(*user) : theirs.address().to_string();
}

std::chrono::nanoseconds ns(std::uint64_t count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count));
}

}  // namespace

class SnapshotServer::Impl {
 public:
  Impl(SnapshotServer& owner, const SnapshotOptions& options, const itch::mold::Session& session);
  ~Impl();

  net::Endpoint local() const {
    const tcp::endpoint at = acceptor_.local_endpoint();
    return {at.address().to_v4().to_uint(), at.port()};
  }
  void start() {
    accept();
    tick();
    thread_ = std::thread([this] {
      name_this_thread("snapshot");
      io_.run();
    });
  }

 private:
  enum class Stage : std::uint8_t { kLogin, kWaiting, kSending, kSent };
  struct Client {
    explicit Client(tcp::socket connected) : socket(std::move(connected)) {}
    tcp::socket socket;
    std::string peer;  // peer_of(), once it is asked for
    std::array<std::byte, kReadBytes> input;
    std::size_t filled = 0;
    std::vector<std::byte> output;   // on its way
    std::vector<std::byte> pending;  // behind it
    Stage stage = Stage::kLogin;
    bool closing = false;  // when everything is written
    bool gone = false;
    std::uint64_t wanted = 0;  // its place among the logins
    Clock::time_point heard = Clock::now();
    Clock::time_point sent = Clock::now();
  };
  using ClientPtr = std::shared_ptr<Client>;

  void accept();
  bool make_room(const tcp::socket& newcomer);
  bool drop_one_without_login();
  void read(const ClientPtr& client);
  void take(const ClientPtr& client);
  bool on_packet(Client& client, const soup::Packet& packet);
  void on_login(Client& client, const soup::LoginRequest& login);
  void reject(Client& client, soup::RejectReason reason, const char* why);
  void write(const ClientPtr& client);
  void drop(Client& client);

  void tick();
  bool follow();
  void answer();
  void end_all();
  void watch();

  SnapshotServer& owner_;
  SnapshotOptions options_;
  soup::Session session_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  GlimpseBook book_;
  std::list<ClientPtr> clients_;
  LogBudget budget_;
  bool incomplete_told_ = false;
  bool accepting_ = false;
  std::thread thread_;
};

SnapshotServer::Impl::Impl(SnapshotServer& owner, const SnapshotOptions& options,
                           const itch::mold::Session& session)
    : owner_(owner),
      options_(options),
      session_(session.view()),
      acceptor_(io_),
      timer_(io_),
      book_(options.book) {
  const tcp::endpoint at(asio::ip::address_v4(options.listen.address), options.listen.port);
  try {
    acceptor_.open(at.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen();
  } catch (const boost::system::system_error& error) {
    throw net::NetError("cannot listen on " + options.listen.text() +
                        " for snapshot logins (feed.snapshot.listen): " + error.code().message() +
                        "; is another sim running, is the address this host's?");
  }
}

SnapshotServer::Impl::~Impl() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

// ----------------------------------------------------------------------------------- clients

void SnapshotServer::Impl::accept() {
  accepting_ = true;
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    accepting_ = false;
    if (!error) {
      owner_.counters_.connections.add();
      if (make_room(socket)) {
        clients_.push_back(std::make_shared<Client>(std::move(socket)));
        read(clients_.back());
      } else {
        owner_.counters_.overloaded.add();
      }
      accept();
    } else if (error != asio::error::operation_aborted) {  // again on the next tick
      owner_.counters_.accept_failures.add();
    }
  });
}

// When all places are taken, whoever has not logged in goes; then, for a peer that has few, the
// newest of the one that has most. False: nobody has to go.
bool SnapshotServer::Impl::make_room(const tcp::socket& newcomer) {
  if (clients_.size() < options_.clients_max || drop_one_without_login()) return true;
  // Only now the kernel is asked who they are.
  std::map<std::string, std::size_t> held;
  for (const ClientPtr& client : clients_) {
    if (client->peer.empty()) client->peer = peer_of(client->socket);
    ++held[client->peer];
  }
  const auto most =
      std::ranges::max_element(held, {}, [](const auto& each) { return each.second; });
  if (held[peer_of(newcomer)] >= options_.peer_clients_max ||
      most->second <= options_.peer_clients_max)
    return false;
  const auto newest = std::ranges::find(clients_.rbegin(), clients_.rend(), most->first,
                                        [](const ClientPtr& client) { return client->peer; });
  owner_.counters_.crowded_out.add();
  drop(**newest);
  clients_.erase(std::next(newest).base());
  return true;
}

// Whoever has not logged in holds no place: who has waited longest goes.
bool SnapshotServer::Impl::drop_one_without_login() {
  const auto found = std::ranges::find_if(clients_, [](const ClientPtr& client) {
    return client->gone || client->stage == Stage::kLogin;
  });
  if (found == clients_.end()) return false;
  if (!(*found)->gone) owner_.counters_.crowded_out.add();
  drop(**found);
  clients_.erase(found);
  return true;
}

void SnapshotServer::Impl::read(const ClientPtr& client) {
  client->socket.async_read_some(
      asio::buffer(client->input.data() + client->filled, client->input.size() - client->filled),
      [this, client](const error_code& error, std::size_t bytes) {
        if (client->gone) return;
        if (error) return drop(*client);
        client->filled += bytes;
        client->heard = Clock::now();
        take(client);
      });
}

void SnapshotServer::Impl::take(const ClientPtr& client) {
  std::span<const std::byte> rest = std::span(client->input).first(client->filled);
  soup::Packet packet;
  std::size_t consumed = 0;
  soup::ReadStatus status{};
  while ((status = soup::read_packet(rest, packet, consumed)) == soup::ReadStatus::kPacket) {
    if (!on_packet(*client, packet)) return drop(*client);
    rest = rest.subspan(consumed);
  }
  // Full without a whole packet: longer than anything that a client has to say.
  if (status == soup::ReadStatus::kDamaged || rest.size() == client->input.size()) {
    owner_.counters_.malformed.add();
    return drop(*client);
  }
  std::copy(rest.begin(), rest.end(), client->input.begin());
  client->filled = rest.size();
  write(client);
  read(client);
}

// False: the client is to go.
bool SnapshotServer::Impl::on_packet(Client& client, const soup::Packet& packet) {
  switch (packet.type) {
    case soup::PacketType::kLoginRequest: {
      const auto login = soup::parse_login_request(packet.payload);
      if (!login || client.stage != Stage::kLogin) break;
      on_login(client, *login);
      return true;
    }
    case soup::PacketType::kClientHeartbeat:
    case soup::PacketType::kUnsequencedData:
      if (client.stage == Stage::kLogin) break;
      return true;
    case soup::PacketType::kDebug:
      return true;
    case soup::PacketType::kLogoutRequest:
      return false;
    default:
      break;
  }
  owner_.counters_.malformed.add();
  return false;
}

void SnapshotServer::Impl::on_login(Client& client, const soup::LoginRequest& login) {
  owner_.counters_.logins.add();
  if (!matches(options_.username, login.username) ||
      !matches(options_.password.reveal(), login.password))
    return reject(client, soup::RejectReason::kNotAuthorized, "wrong name or password");
  if (login.session != soup::Session{} && login.session != session_)
    return reject(client, soup::RejectReason::kSessionNotAvailable, "another session");
  // GLIMPSE 5.0, "Architecture": at sequence 1. Any other number is of an earlier snapshot.
  if (login.sequence_number != 1)
    return reject(client, soup::RejectReason::kSessionNotAvailable, "another number than 1");
  if (book_.incomplete())
    return reject(client, soup::RejectReason::kSessionNotAvailable, "the books are incomplete");
  soup::append(client.pending, soup::LoginAccepted{session_, 1});
  client.stage = Stage::kWaiting;
  client.wanted = owner_.wanted_.load(std::memory_order_relaxed) + 1;  // written here alone
  // Relaxed: see turn().
  owner_.wanted_.store(client.wanted, std::memory_order_relaxed);
  tick();
}

void SnapshotServer::Impl::reject(Client& client, soup::RejectReason reason, const char* why) {
  owner_.counters_.rejected.add();
  if (budget_.take(Clock::now())) log::warning("snapshot: a login was rejected: {}", why);
  soup::append(client.pending, reason);
  client.stage = Stage::kSent;
  client.closing = true;
}

void SnapshotServer::Impl::write(const ClientPtr& client) {
  if (client->gone || !client->output.empty()) return;
  if (client->pending.empty()) {
    if (client->closing) drop(*client);
    return;
  }
  client->output.swap(client->pending);
  client->sent = Clock::now();
  asio::async_write(client->socket, asio::buffer(client->output),
                    [this, client](const error_code& error, std::size_t bytes) {
                      if (client->gone) return;
                      if (error) return drop(*client);
                      owner_.counters_.bytes.add(bytes);
                      client->output.clear();
                      client->sent = client->heard = Clock::now();
                      if (client->stage == Stage::kSending && client->pending.empty()) {
                        client->stage = Stage::kSent;
                        client->output.shrink_to_fit();
                        owner_.counters_.sent.add();
                      }
                      write(client);
                    });
}

// Its handlers still hold it; they find it gone.
void SnapshotServer::Impl::drop(Client& client) {
  if (client.gone) return;
  client.gone = true;
  if (client.stage == Stage::kWaiting || client.stage == Stage::kSending)
    owner_.counters_.lost.add();
  error_code ignored;
  client.socket.close(ignored);
}

// -------------------------------------------------------------------------------------- time

void SnapshotServer::Impl::tick() {
  if (!accepting_) accept();
  const bool more = follow();
  answer();
  watch();
  clients_.remove_if([](const ClientPtr& client) { return client->gone; });
  const bool wanted = owner_.wanted_.load(std::memory_order_relaxed) !=
                      owner_.handed_over_.load(std::memory_order_relaxed);
  timer_.expires_after(more ? std::chrono::milliseconds(0) : wanted ? kPollWanted : kPollIdle);
  timer_.async_wait([this](const error_code& error) {
    if (!error) tick();  // else it was set anew
  });
}

// True: there is more to follow.
bool SnapshotServer::Impl::follow() {
  QueuedMessage message;
  for (std::size_t i = 0; i < kFollowMax; ++i) {
    if (owner_.queue_.front(message) != MessageQueue::Status::kMessage) return false;
    book_.apply(message.bytes);
    owner_.queue_.pop();
  }
  return true;
}

// Takes one snapshot for all who wait for what has been handed over.
void SnapshotServer::Impl::answer() {
  // Pairs with the release in turn().
  const std::uint64_t handed_over = owner_.handed_over_.load(std::memory_order_acquire);
  std::vector<std::byte> snapshot;
  std::uint64_t messages = 0;
  for (const ClientPtr& client : clients_) {
    if (client->gone || client->stage != Stage::kWaiting || client->wanted > handed_over) continue;
    if (snapshot.empty()) {
      // What was handed over is in the queue by now, whole. No further: while the feed brings as
      // much as this thread follows, the login would wait for the end of the replay.
      const std::uint64_t messages_then =
          owner_.handed_over_messages_.load(std::memory_order_relaxed);
      while (book_.next_sequence() <= messages_then && follow()) {
      }
      if (book_.incomplete()) return end_all();
      messages = book_.append_snapshot(snapshot);
    }
    client->pending.insert(client->pending.end(), snapshot.begin(), snapshot.end());
    client->stage = Stage::kSending;
    owner_.counters_.messages.add(messages);
    if (budget_.take(Clock::now()))
      log::info("snapshot: {} messages up to sequence {} for {}", messages, book_.next_sequence(),
                session_.view());
    write(client);
  }
}

// 2.2.5: there is no more, and here nothing at all.
void SnapshotServer::Impl::end_all() {
  for (const ClientPtr& client : clients_) {
    if (client->gone || client->stage != Stage::kWaiting) continue;
    soup::append_packet(client->pending, soup::PacketType::kEndOfSession);
    client->closing = true;
    write(client);
  }
}

void SnapshotServer::Impl::watch() {
  if (book_.incomplete() && !incomplete_told_) {
    incomplete_told_ = true;
    log::error(
        "snapshot: its books have no room for an order; logins are rejected from here on; "
        "raise matching.recorded_orders_max or matching.recorded_levels_max");
  }
  const Clock::time_point now = Clock::now();
  if (const std::uint64_t unsaid = budget_.take_unsaid(now); unsaid != 0)
    log::info("snapshot: {} more lines were left out", unsaid);
  for (const ClientPtr& client : clients_) {
    if (client->gone) continue;
    const bool login = client->stage == Stage::kLogin;
    if (now - client->heard > ns(login ? options_.login_ns : soup::kSilenceNs) &&
        client->output.empty()) {
      owner_.counters_.timeouts.add();
      drop(*client);
    } else if (!login && client->output.empty() && now - client->sent > ns(soup::kHeartbeatNs)) {
      soup::append_packet(client->pending, soup::PacketType::kServerHeartbeat);
      write(client);
    }
  }
}

SnapshotServer::SnapshotServer(const SnapshotOptions& options, const itch::mold::Session& session)
    : queue_(options.queue_blocks), impl_(std::make_unique<Impl>(*this, options, session)) {
  local_ = impl_->local();
  impl_->start();
}

SnapshotServer::~SnapshotServer() = default;

}  // namespace tickpath::sim
