#include "common/control/admin_server.hpp"

#include <istream>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/log/log.hpp"

namespace tickpath::control {

namespace asio = boost::asio;
using Protocol = asio::local::stream_protocol;

struct AdminServer::Acceptor {
  explicit Acceptor(asio::io_context& io) : acceptor(io) {}
  Protocol::acceptor acceptor;
};

// One connection: reads a line, answers it, reads the next. Lives as long as an operation or a
// pending answer holds it.
class AdminServer::Session : public std::enable_shared_from_this<AdminServer::Session> {
 public:
  Session(Protocol::socket socket, const AdminServer& server)
      : socket_(std::move(socket)), buffer_(kRequestBytesMax), server_(server) {}

  void read() {
    asio::async_read_until(socket_, buffer_, '\n',
                           [self = shared_from_this()](const auto& error, std::size_t) {
                             if (!error) self->dispatch();
                           });
  }

 private:
  void dispatch() {
    std::istream stream(&buffer_);
    std::string line;
    std::getline(stream, line);
    server_.handle(line, [self = shared_from_this()](const Json& answer) { self->write(answer); });
  }

  void write(const Json& answer) {
    // Texts come from files and peers; what is not UTF-8 in them must not end the program.
    line_ = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    asio::async_write(socket_, asio::buffer(line_),
                      [self = shared_from_this()](const auto& error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  Protocol::socket socket_;
  asio::streambuf buffer_;
  std::string line_;
  const AdminServer& server_;
};

AdminServer::AdminServer(asio::io_context& io, const std::string& path)
    : path_(path), acceptor_(std::make_unique<Acceptor>(io)) {
  ::unlink(path.c_str());
  try {
    auto& acceptor = acceptor_->acceptor;
    const Protocol::endpoint endpoint(path);  // refuses what does not fit a sockaddr_un
    acceptor.open(endpoint.protocol());
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
    if (error)
      log::warning("admin socket: {}", error.message());
    else
      std::make_shared<Session>(std::move(socket), *this)->read();
    accept();
  });
}

Json AdminServer::commands() const {
  Json list = Json::array();
  for (const auto& [name, command] : commands_)
    list.push_back({{"command", name}, {"help", command.help}});
  return {{"ok", true}, {"commands", list}};
}

void AdminServer::handle(const std::string& line, Answer answer) const {
  const auto refuse = [&](const std::string& why) { answer({{"ok", false}, {"error", why}}); };
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("command") || !request["command"].is_string())
    return refuse("a request is one line of JSON: {\"command\": \"status\"}");
  const std::string name = request["command"];
  const auto found = commands_.find(name);
  if (found == commands_.end())
    return refuse("unknown command '" + name + "'; 'commands' lists the known ones");
  try {
    found->second.handler(request, answer);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

}  // namespace tickpath::control
