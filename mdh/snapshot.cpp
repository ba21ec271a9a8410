#include "mdh/snapshot.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/base/cpu.hpp"
#include "common/base/error.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/glimpse.hpp"
#include "common/log/log.hpp"

namespace tickpath::mdh {
namespace {

namespace asio = boost::asio;
namespace soup = itch::soup;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 256 * 1024;  // any packet fits, and many do

std::chrono::nanoseconds ns(std::uint64_t count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count));
}

int made_eventfd() {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw SystemError("cannot create an event descriptor", errno);
  return descriptor;
}

}  // namespace

void Snapshot::append(std::span<const std::byte> message) {
  TICKPATH_CHECK(message.size() <= 0xffff, "a two-byte length");
  bytes_.push_back(static_cast<std::byte>(message.size() >> 8));
  bytes_.push_back(static_cast<std::byte>(message.size() & 0xff));
  bytes_.insert(bytes_.end(), message.begin(), message.end());
  ++count_;
}

// ------------------------------------------------------------------------------ one attempt

class SnapshotClient::Impl {
 public:
  Impl(SnapshotClient& owner, const SnapshotClientOptions& options)
      : owner_(owner),
        options_(options),
        wake_(io_, made_eventfd()),
        socket_(io_),
        silence_(io_),
        heartbeat_(io_),
        input_(kReadBytes) {}
  ~Impl() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  int wake_descriptor() { return wake_.native_handle(); }
  void start() {
    await_request();
    thread_ = std::thread([this] {
      name_this_thread("snapshot");
      io_.run();
    });
  }

 private:
  void await_request();
  void connect();
  void log_in();
  void read();
  bool take();
  bool on_packet(const soup::Packet& packet);
  bool on_message(std::span<const std::byte> message);
  void expect_news();
  void keep_alive();
  bool malformed(const char* what);
  bool fail(const std::string& why);
  void end(Status status);

  template <class Function>
  auto of_this_attempt(Function function) {
    return [this, attempt = attempt_, function](const error_code& error, std::size_t = 0) {
      if (attempt == attempt_) function(error);
    };
  }

  SnapshotClient& owner_;
  SnapshotClientOptions options_;
  asio::io_context io_;
  asio::posix::stream_descriptor wake_;
  std::array<std::byte, 8> wake_count_{};
  tcp::socket socket_;
  asio::steady_timer silence_, heartbeat_;
  std::vector<std::byte> input_;
  std::size_t filled_ = 0;
  std::vector<std::byte> output_;
  bool logged_in_ = false;
  bool has_news_ = false;      // the bytes read last held an answer to the login, or data
  std::uint64_t attempt_ = 0;  // handlers of an earlier one have nothing to say
  std::thread thread_;
};

void SnapshotClient::Impl::await_request() {
  wake_.async_read_some(asio::buffer(wake_count_), [this](const error_code& error, std::size_t) {
    if (!error && owner_.status_.load(std::memory_order_acquire) == Status::kPending) connect();
    if (error != asio::error::operation_aborted) await_request();
  });
}

void SnapshotClient::Impl::connect() {
  owner_.counters_.requested.add();
  owner_.snapshot_.clear();
  filled_ = 0;
  logged_in_ = false;
  expect_news();
  const tcp::endpoint at(asio::ip::address_v4(options_.server.address), options_.server.port);
  socket_.async_connect(at, of_this_attempt([this](const error_code& error) {
                          if (error)
                            fail("no connection: " + error.message());
                          else
                            log_in();
                        }));
}

// The blank session is the current one; its name comes with the answer.
void SnapshotClient::Impl::log_in() {
  output_.clear();
  soup::append(
      output_,
      soup::LoginRequest{
          itch::Alpha<6>(options_.username), itch::Alpha<10>(options_.password.reveal()), {}, 1});
  asio::async_write(socket_, asio::buffer(output_),
                    of_this_attempt([this](const error_code& error) {
                      if (error)
                        fail("the login could not be sent: " + error.message());
                      else
                        keep_alive();
                    }));
  read();
}

void SnapshotClient::Impl::read() {
  socket_.async_read_some(asio::buffer(input_.data() + filled_, input_.size() - filled_),
                          [this, attempt = attempt_](const error_code& error, std::size_t bytes) {
                            if (attempt != attempt_) return;
                            if (error) {
                              fail("the connection ended: " + error.message());
                              return;
                            }
                            owner_.counters_.bytes.add(bytes);
                            filled_ += bytes;
                            has_news_ = false;
                            if (!take()) return;
                            if (has_news_) expect_news();
                            read();
                          });
}

// False: the attempt has ended.
bool SnapshotClient::Impl::take() {
  std::span<const std::byte> rest = std::span<const std::byte>(input_).first(filled_);
  soup::Packet packet;
  std::size_t consumed = 0;
  soup::ReadStatus status{};
  while ((status = soup::read_packet(rest, packet, consumed)) == soup::ReadStatus::kPacket) {
    if (!on_packet(packet)) return false;
    rest = rest.subspan(consumed);
  }
  if (status == soup::ReadStatus::kDamaged) return malformed("a packet without a type");
  std::copy(rest.begin(), rest.end(), input_.begin());
  filled_ = rest.size();
  return true;
}

bool SnapshotClient::Impl::on_packet(const soup::Packet& packet) {
  switch (packet.type) {
    case soup::PacketType::kLoginAccepted: {
      const auto accepted = soup::parse_login_accepted(packet.payload);
      if (!accepted || accepted->sequence_number != 1 || logged_in_)
        return malformed("an answer to the login that is none");
      logged_in_ = has_news_ = true;
      owner_.snapshot_.session = itch::mold::Session(accepted->session.view());
      return true;
    }
    case soup::PacketType::kLoginRejected:
      owner_.counters_.rejected.add();
      return fail(
          packet.payload.size() == 1 && packet.payload[0] == std::byte{'A'}
              ? "the login was rejected: not authorized (feed.snapshot.username, password_file)"
              : "the login was rejected: no such session");
    case soup::PacketType::kSequencedData:
      if (!logged_in_) return malformed("data before the login");
      has_news_ = true;
      return on_message(packet.payload);
    case soup::PacketType::kServerHeartbeat:
    case soup::PacketType::kDebug:
      return true;
    case soup::PacketType::kEndOfSession:
      return fail("the server has nothing to give (its log says why)");
    default:
      return malformed("a packet of no known type");
  }
}

bool SnapshotClient::Impl::on_message(std::span<const std::byte> message) {
  if (message.empty()) return malformed("an empty message");
  const char type = static_cast<char>(message[0]);
  if (type == itch::glimpse::kSnapshotType) {
    const auto next = itch::glimpse::parse_snapshot(message);
    if (!next || *next == 0) return malformed("an end without a number");
    owner_.snapshot_.next_sequence = *next;
    owner_.counters_.received.add();
    owner_.counters_.messages.add(owner_.snapshot_.messages());
    log::info("feed: snapshot of {} messages, up to sequence {}", owner_.snapshot_.messages(),
              *next);
    end(Status::kReady);
    return false;
  }
  if (!itch::glimpse::is_state(type) || itch::length_of(type) != message.size())
    return malformed("a message that no snapshot has");
  if (owner_.snapshot_.bytes() + message.size() > options_.bytes_max)
    return fail("it is larger than all books here could hold; raise book.orders_max");
  owner_.snapshot_.append(message);
  return true;
}

// Heartbeats are none: a server that beats and sends nothing must not hold an attempt for ever.
void SnapshotClient::Impl::expect_news() {
  silence_.expires_after(ns(options_.timeout_ns));
  silence_.async_wait(of_this_attempt([this](const error_code& error) {
    if (!error)
      fail(
          "the server sends nothing of it for feed.snapshot.timeout (is feed.snapshot.server "
          "right, is it up?)");
  }));
}

// SoupBinTCP 3.00, 1.3: something each second.
void SnapshotClient::Impl::keep_alive() {
  heartbeat_.expires_after(ns(soup::kHeartbeatNs));
  heartbeat_.async_wait(of_this_attempt([this](const error_code& error) {
    if (error) return;
    output_.clear();
    soup::append_packet(output_, soup::PacketType::kClientHeartbeat);
    asio::async_write(socket_, asio::buffer(output_),
                      of_this_attempt([this](const error_code& failed) {
                        if (!failed) keep_alive();  // else reading tells
                      }));
  }));
}

bool SnapshotClient::Impl::malformed(const char* what) {
  owner_.counters_.malformed.add();
  return fail(std::string("the answer is damaged: ") + what);
}

bool SnapshotClient::Impl::fail(const std::string& why) {
  owner_.counters_.failed.add();
  log::warning("feed: no snapshot from {}: {}", options_.server.text(), why);
  end(Status::kFailed);
  return false;
}

void SnapshotClient::Impl::end(Status status) {
  ++attempt_;
  error_code ignored;
  if (logged_in_) {
    std::vector<std::byte> logout;
    soup::append_packet(logout, soup::PacketType::kLogoutRequest);
    socket_.non_blocking(true, ignored);
    (void)socket_.write_some(asio::buffer(logout), ignored);  // closing says the same
  }
  socket_.close(ignored);
  silence_.cancel();
  heartbeat_.cancel();
  // Pairs with the acquire in poll(): without it the datapath could read a snapshot half written.
  owner_.status_.store(status, std::memory_order_release);
}

// -------------------------------------------------------------------------------- datapath

SnapshotClient::SnapshotClient(const SnapshotClientOptions& options)
    : impl_(std::make_unique<Impl>(*this, options)) {
  wake_ = impl_->wake_descriptor();
  impl_->start();
}

SnapshotClient::~SnapshotClient() = default;

void SnapshotClient::request() noexcept {
  if (status_.load(std::memory_order_relaxed) != Status::kNone) return;  // written here alone
  // Pairs with the acquire in await_request(): without it that thread could still hold an older
  // attempt's snapshot for the datapath's.
  status_.store(Status::kPending, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);  // cannot be full: one request at a time
}

void SnapshotClient::release() noexcept {
  // Relaxed: the next request hands the snapshot over.
  status_.store(Status::kNone, std::memory_order_relaxed);
}

}  // namespace tickpath::mdh
