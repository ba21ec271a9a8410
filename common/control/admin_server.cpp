#include "common/control/admin_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <istream>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/log_budget.hpp"
#include "common/log/log.hpp"

namespace tickpath::control {

namespace asio = boost::asio;
using Protocol = asio::local::stream_protocol;

namespace {
constexpr std::chrono::milliseconds kAcceptPause{100};

// Looking changes nothing: `tickpath up` asks several times a second.
constexpr std::array<std::string_view, 5> kLooks{"status", "ready", "counters", "commands",
                                                 "positions"};
constexpr std::size_t kAuditedBytesMax = 200;  // of a request, in the log

ucred user_of(Protocol::socket& socket) {
  ucred user{};
  user.uid = ~uid_t{0};
  socklen_t length = sizeof(user);
  (void)::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &user, &length);
  return user;
}

// JSON escapes what would move the cursor or end the line.
std::string shown(const Json& request) {
  return request.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kAuditedBytesMax);
}

std::string text_of(const ucred& user) {
  return "user " + std::to_string(user.uid) + " (process " + std::to_string(user.pid) + ")";
}
}  // namespace

struct AdminServer::Acceptor {
  explicit Acceptor(asio::io_context& io) : acceptor(io), pause(io) {}
  Protocol::acceptor acceptor;
  asio::steady_timer pause;  // after a failure: descriptors are used up, perhaps
  LogBudget budget{1};
};

// One connection: reads a line, answers it, reads the next. Lives as long as an operation or a
// pending answer holds it.
class AdminServer::Session : public std::enable_shared_from_this<AdminServer::Session> {
 public:
  Session(Protocol::socket socket, const AdminServer& server)
      : socket_(std::move(socket)),
        user_(text_of(user_of(socket_))),
        buffer_(kRequestBytesMax),
        server_(server) {}

  // Whether it has asked for nothing that it still waits for.
  bool idle() const noexcept { return idle_; }
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  void read() {
    asio::async_read_until(socket_, buffer_, '\n',
                           [self = shared_from_this()](const auto& error, std::size_t) {
                             if (!error) self->dispatch();
                           });
  }

 private:
  void dispatch() {
    idle_ = false;
    std::istream stream(&buffer_);
    std::string line;
    std::getline(stream, line);
    server_.handle(line, user_,
                   [self = shared_from_this()](const Json& answer) { self->write(answer); });
  }

  void write(const Json& answer) {
    idle_ = true;  // one that does not read its answer waits for nothing
    // Texts come from files and peers; what is not UTF-8 in them must not end the program.
    line_ = text_of(answer) + "\n";
    asio::async_write(socket_, asio::buffer(line_),
                      [self = shared_from_this()](const auto& error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  Protocol::socket socket_;
  std::string user_;
  asio::streambuf buffer_;
  std::string line_;
  bool idle_ = true;
  const AdminServer& server_;
};

AdminServer::AdminServer(asio::io_context& io, const std::string& path)
    : path_(path), acceptor_(std::make_unique<Acceptor>(io)) {
  ::unlink(path.c_str());
  try {
    auto& acceptor = acceptor_->acceptor;
    const Protocol::endpoint endpoint(path);  // refuses what does not fit a sockaddr_un
    acceptor.open(endpoint.protocol());
    // The mode of the unbound socket becomes the file's (Linux), less the umask: it is never open
    // to others, not even for a moment.
    if (::fchmod(acceptor.native_handle(), 0600) != 0)
      throw SystemError("cannot restrict the admin socket", errno);
    acceptor.bind(endpoint);
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw Error("cannot listen at the admin socket '" + path + "': " + error.code().message() +
                " (a socket's path has at most 107 bytes: use a shorter run directory)");
  }
  add("commands", "names and help of the commands",
      [this](const Json&, const Answer& answer) { answer(commands()); });
  accept();
}

AdminServer::~AdminServer() { ::unlink(path_.c_str()); }

void AdminServer::add(const std::string& command, const std::string& help, Handler handler) {
  commands_[command] = {help, std::move(handler)};
}

void AdminServer::accept() {
  acceptor_->acceptor.async_accept([this](const auto& error, Protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) return pause(error.message());
    if (!allowed(socket)) return accept();
    if (make_room()) {
      const auto session = std::make_shared<Session>(std::move(socket), *this);
      sessions_.push_back(session);
      session->read();
    }
    accept();
  });
}

// The mode of the socket keeps others out, unless somebody changes it.
template <class Socket>
bool AdminServer::allowed(Socket& socket) {
  const ucred user = user_of(socket);
  if (user.uid == ::geteuid() || user.uid == 0) return true;
  ++refused_;
  const std::string why = text_of(user) + " is refused: commands are taken of user " +
                          std::to_string(::geteuid()) + " and root alone";
  if (acceptor_->budget.take(LogBudget::Clock::now())) log::warning("admin socket: {}", why);
  const std::string line = Json{{"ok", false}, {"denied", true}, {"error", why}}.dump() + "\n";
  (void)!::send(socket.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return false;
}

void AdminServer::pause(const std::string& why) {
  ++accept_failures_;
  if (acceptor_->budget.take(LogBudget::Clock::now()))
    log::warning("admin socket: cannot accept a connection: {}; tried again every {} ms", why,
                 kAcceptPause.count());
  acceptor_->pause.expires_after(kAcceptPause);
  acceptor_->pause.async_wait([this](const auto& error) {
    if (!error) accept();
  });
}

// Whoever holds a connection and asks nothing makes room for one who may. False: all wait for
// answers.
bool AdminServer::make_room() {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
  if (sessions_.size() < kSessionsMax) return true;
  const auto idle = std::find_if(sessions_.begin(), sessions_.end(), [](const auto& each) {
    const std::shared_ptr<Session> session = each.lock();
    return session == nullptr || session->idle();
  });
  if (idle == sessions_.end()) return false;
  if (const std::shared_ptr<Session> session = idle->lock()) session->close();
  sessions_.erase(idle);
  return true;
}

Json AdminServer::commands() const {
  Json list = Json::array();
  for (const auto& [name, command] : commands_)
    list.push_back({{"command", name}, {"help", command.help}});
  return {{"ok", true}, {"commands", list}};
}

void AdminServer::handle(const std::string& line, const std::string& user, Answer answer) const {
  const auto refuse = [&](const std::string& why) { answer({{"ok", false}, {"error", why}}); };
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("command") || !request["command"].is_string())
    return refuse("a request is one line of JSON: {\"command\": \"status\"}");
  const std::string name = request["command"];
  const auto found = commands_.find(name);
  if (found == commands_.end())
    return refuse("unknown command '" + name + "'; 'commands' lists the known ones");
  if (std::ranges::find(kLooks, name) == kLooks.end())
    log::info("admin: {} by {}", shown(request), user);
  try {
    found->second.handler(request, answer);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

}  // namespace tickpath::control
