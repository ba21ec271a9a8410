#include "tools/watch/web_server.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "common/base/error.hpp"
#include "common/net/peer_rule.hpp"
#include "tools/watch/tickpath_child.hpp"

namespace tickpath::watch {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kHeaderBytesMax = 8192;
constexpr std::size_t kBodyBytesMax = 1024;
constexpr unsigned kRequestsMax = 1000;  // of one connection
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kChildPause{50};

class Session;

// What all connections share.
struct Shared {
  const WebServerOptions& options;
  net::PeerRule peers;
  std::shared_ptr<const Snapshot> newest;
  std::string event;  // of the newest
  std::set<Session*> listeners;
  std::size_t connections = 0;
  bool commanding = false;  // a command of `tickpath` runs: one at a time
};

std::string_view view_of_field(beast::string_view text) { return {text.data(), text.size()}; }

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Shared& shared)
      : stream_(std::move(socket)), timer_(stream_.get_executor()), shared_(shared) {
    ++shared_.connections;
  }
  ~Session() {
    --shared_.connections;
    shared_.listeners.erase(this);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() {
    if (shared_.connections > shared_.options.connections_max)
      return refuse(503, "too many connections");
    const std::string why = shared_.options.rules.token.empty()
                                ? shared_.peers.refusal_of_client(stream_.socket().native_handle())
                                : std::string();
    if (!why.empty()) return refuse(403, why);
    read();
  }

  // A new view is there.
  void send_event() {
    if (writing_ || sent_ == shared_.newest->number) return;
    writing_ = true;
    sent_ = shared_.newest->number;
    event_ = shared_.event;
    write_raw();
  }

 private:
  std::chrono::duration<double> patience() const {
    return std::chrono::duration<double>(shared_.options.patience_s);
  }
  void expect() {
    stream_.expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(patience()));
  }

  void read() {
    if (++requests_ > kRequestsMax) return close();
    parser_.emplace();
    parser_->header_limit(kHeaderBytesMax);
    parser_->body_limit(kBodyBytesMax);
    expect();
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

  void on_read(const error_code& error) {
    if (error == http::error::header_limit) return refuse(431, "the header is too long");
    if (error == http::error::body_limit) return refuse(413, "the body is too long");
    if (error == http::error::end_of_stream || error == beast::error::timeout) return close();
    // What is no HTTP gets an answer; who is gone does not.
    if (error && error.category() == http::make_error_code(http::error::bad_method).category())
      return refuse(400, "this is no HTTP/1.1 request: " + error.message());
    if (error) return close();
    const auto& message = parser_->get();
    const HttpRequest request{view_of_field(message.method_string()),
                              view_of_field(message.target()),
                              view_of_field(message[http::field::host]),
                              view_of_field(message[http::field::authorization]),
                              view_of_field(message[http::field::cookie]),
                              view_of_field(message[http::field::content_type]),
                              message.body()};
    HttpAnswer answer = answer_to(request, shared_.options.rules, shared_.newest.get());
    if (!answer.command.empty()) return command(std::move(answer));
    if (answer.events && message.method() == http::verb::get) return begin_events(answer);
    respond(answer, message.keep_alive());
  }

  void refuse(unsigned status, const std::string& text) {
    HttpAnswer answer;
    answer.status = status;
    answer.body = text + "\n";
    expect();
    respond(answer, false);
  }

  void respond(const HttpAnswer& answer, bool keep_alive) {
    response_ = {};
    response_.version(11);
    response_.result(answer.status);
    response_.set(http::field::content_type, answer.type);
    for (const auto& [name, value] : common_fields())
      response_.set(std::string(name), std::string(value));
    for (const auto& [name, value] : answer.fields) response_.set(name, value);
    response_.keep_alive(keep_alive);
    response_.body() = answer.body;
    response_.prepare_payload();
    // RFC 9110, 9.3.2: the answer to HEAD has the length, and not the content.
    if (parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head)
      response_.body().clear();
    expect();
    http::async_write(stream_, response_,
                      [self = shared_from_this(), keep_alive](error_code error, std::size_t) {
                        if (error || !keep_alive) return self->close();
                        self->read();
                      });
  }

  // ---- events

  void begin_events(const HttpAnswer& answer) {
    event_ = "HTTP/1.1 200 OK\r\nContent-Type: " + answer.type + "\r\nConnection: close\r\n";
    for (const auto& [name, value] : common_fields())
      event_ += std::string(name) + ": " + std::string(value) + "\r\n";
    event_ += "\r\n";
    writing_ = true;
    shared_.listeners.insert(this);
    watch_for_end();
    write_raw();
  }

  // The client says nothing more: whatever comes is its end.
  void watch_for_end() {
    stream_.expires_never();
    stream_.async_read_some(
        asio::buffer(&end_, 1),
        [self = shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  void write_raw() {
    expect();
    asio::async_write(stream_, asio::buffer(event_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        self->writing_ = false;
                        if (error) return self->close();  // too slow, or gone
                        if (self->shared_.newest) self->send_event();
                      });
  }

  // ---- commands

  void command(HttpAnswer answer) {
    if (shared_.commanding) return refuse(409, "another command is being carried out");
    try {
      child_ = std::make_unique<TickpathChild>(answer.command);
    } catch (const Error& error) {
      return refuse(500, error.what());
    }
    shared_.commanding = true;
    await_child();
  }

  void await_child() {
    timer_.expires_after(kChildPause);
    timer_.async_wait([self = shared_from_this()](error_code) {
      if (!self->child_->ended()) return self->await_child();
      self->shared_.commanding = false;
      HttpAnswer answer;
      answer.status = self->child_->succeeded() ? 200 : 502;
      answer.body = self->child_->text() + "\n";
      self->child_.reset();
      self->respond(answer, false);
    });
  }

  void close() {
    shared_.listeners.erase(this);
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  Shared& shared_;
  beast::flat_buffer buffer_{kHeaderBytesMax + kBodyBytesMax};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  unsigned requests_ = 0;
  bool writing_ = false;
  std::uint64_t sent_ = 0;
  std::string event_;
  char end_ = 0;
  std::unique_ptr<TickpathChild> child_;
};

class Server {
 public:
  Server(const WebServerOptions& options)
      : shared_{options, net::PeerRule({}, options.users, "--user"), {}, {}, {}, 0, false},
        acceptor_(context_),
        pause_(context_),
        signals_(context_, SIGINT, SIGTERM, SIGHUP) {
    listen();
    signals_.async_wait([this](error_code, int) { context_.stop(); });
  }

  void run(const std::function<void()>& on_ready) {
    Lookout lookout(
        shared_.options.rules.run_dir,
        std::chrono::milliseconds(static_cast<std::int64_t>(shared_.options.interval_s * 1000)),
        [this] { asio::post(context_, [this] { on_look(); }); });
    lookout_ = &lookout;
    accept();
    on_ready();
    context_.run();
  }

 private:
  void listen() {
    const net::Endpoint& at = shared_.options.listen;
    const tcp::endpoint endpoint(asio::ip::address_v4(at.address), at.port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (error)
      throw Error("cannot listen at " + at.text() + ": " + error.message() +
                  "; choose another place by --listen");
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        // Far beyond the bound there is not even an answer.
        if (shared_.connections < 2 * shared_.options.connections_max)
          std::make_shared<Session>(std::move(socket), shared_)->start();
        return accept();
      }
      // No descriptors left, as a rule: some are free in a moment.
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](error_code) { accept(); });
    });
  }

  void on_look() {
    shared_.newest = lookout_->newest();
    shared_.event = shared_.listeners.empty() ? "" : event_of(*shared_.newest);
    // One that fails leaves the set.
    const std::set<Session*> listeners = shared_.listeners;
    for (Session* const each : listeners) each->send_event();
  }

  Shared shared_;  // first: connections that the end of the context ends leave it
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::signal_set signals_;
  const Lookout* lookout_ = nullptr;
};

}  // namespace

void serve(const WebServerOptions& options, const std::function<void()>& on_ready) {
  Server(options).run(on_ready);
}

}  // namespace tickpath::watch
