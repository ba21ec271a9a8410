// A ClickHouse server as a store, by its HTTP interface (docs: ClickHouse, "HTTP Interface").
#include <array>
#include <charconv>
#include <chrono>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "tools/history/store.hpp"

namespace tickpath::history {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

struct Url {
  bool tls = false;
  std::string host;
  std::string port;
};

Url parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return Error("'" + text + "' is no URL of a server: " + why +
                 "; http://HOST:8123 or https://HOST:8443");
  };
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://"))
    url.tls = true;
  else if (!rest.starts_with("http://"))
    throw refuse("it begins with neither http:// nor https://");
  rest.remove_prefix(url.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != rest.npos) throw refuse("nothing follows the port");
  if (rest.find('@') != rest.npos)
    throw refuse("user and password are options (--user, --password-file)");
  const std::size_t bracket = rest.rfind(']');  // [::1]:8123
  const std::size_t colon = rest.find(':', bracket == rest.npos ? 0 : bracket);
  url.host = rest.substr(0, colon);
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  url.port = colon == rest.npos ? (url.tls ? "8443" : "8123") : rest.substr(colon + 1);
  std::uint16_t port = 0;
  const char* const end = url.port.data() + url.port.size();
  if (const auto [stop, error] = std::from_chars(url.port.data(), end, port);
      error != std::errc{} || stop != end || port == 0)
    throw refuse("'" + url.port + "' is no port");
  if (url.host.empty()) throw refuse("it names no host");
  return url;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (std::isalnum(byte) != 0 || each == '_' || each == '-' || each == '.') {
      encoded += each;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

class ServerStore final : public Store {
 public:
  explicit ServerStore(const ServerOptions& options) : options_(options), url_(parse(options.url)) {
    if (!url_.tls) return;
    tls_.set_verify_mode(asio::ssl::verify_peer);
    error_code error;
    if (options.ca_file.empty())
      tls_.set_default_verify_paths(error);
    else
      tls_.load_verify_file(options.ca_file, error);
    if (error) throw Error("certificates of " + options.ca_file + ": " + error.message());
  }

  void enter(bool create, const std::string& on_cluster) override {
    const bool current = is_current();
    if (create)
      execute(std::string("CREATE DATABASE IF NOT EXISTS ") + kDatabase + " " + on_cluster);
    // An insert into a cluster has reached its hosts when it is answered, and tables of several
    // hosts are joined whole.
    settings_ = std::string("&database=") + kDatabase +
                "&insert_distributed_sync=1&distributed_product_mode=global";
    if (current) settings_ += "&final=1";
    execute("SELECT 1");
  }

  void query(const std::string& sql, const std::string& format, const Sink& sink) override {
    exchange("/?wait_end_of_query=1&default_format=" + percent_encoded(format) + settings_, sql,
             sink);
  }

  void insert(const std::string& table, std::string_view rows) override {
    exchange("/?query=" + percent_encoded("INSERT INTO " + table + " FORMAT RowBinary") + settings_,
             rows, [](std::string_view) {});
  }

  const std::string& place() const noexcept override { return options_.url; }

 private:
  using Request = http::request<http::span_body<const char>>;

  void exchange(const std::string& target, std::string_view body, const Sink& sink) {
    Request request{http::verb::post, target, 11};
    request.set(http::field::host, url_.host);
    request.set(http::field::user_agent, "tickpath");
    request.set(http::field::connection, "close");
    if (!options_.user.empty()) request.set("X-ClickHouse-User", options_.user);
    if (!options_.password.empty()) request.set("X-ClickHouse-Key", options_.password.reveal());
    request.body() = {body.data(), body.size()};
    request.prepare_payload();
    if (url_.tls) {
      beast::ssl_stream<beast::tcp_stream> stream(io_, tls_);
      SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               url_.host.data());
      stream.set_verify_callback(asio::ssl::host_name_verification(url_.host));
      connect(stream.next_layer());
      wait("TLS with ", stream, [&](auto done) {
        stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
      });
      transfer(stream, request, sink);
    } else {
      beast::tcp_stream stream(io_);
      connect(stream);
      transfer(stream, request, sink);
    }
  }

  // One operation, to its end or for as long as nothing comes.
  template <class Stream, class Start>
  error_code attempt(Stream& stream, Start start) {
    beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(options_.timeout_s));
    error_code result;
    start([&](error_code error, auto&&...) { result = error; });
    io_.restart();
    io_.run();
    return result;
  }
  template <class Stream, class Start>
  void wait(const char* what, Stream& stream, Start start) {
    if (const error_code error = attempt(stream, std::move(start)))
      throw Error(what + options_.url + ": " + error.message());
  }

  void connect(beast::tcp_stream& stream) {
    error_code error;
    const auto addresses = asio::ip::tcp::resolver(io_).resolve(url_.host, url_.port, error);
    if (error) throw Error("the server " + options_.url + " is not known: " + error.message());
    wait("cannot connect to the server ", stream, [&](auto done) {
      stream.async_connect(addresses, [done](error_code result, const auto&) { done(result); });
    });
  }

  template <class Stream>
  void transfer(Stream& stream, Request& request, const Sink& sink) {
    // An answer may come, and the connection end, before the server has read all: an error.
    const error_code sent =
        attempt(stream, [&](auto done) { http::async_write(stream, request, std::move(done)); });
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(~std::uint64_t{0});  // "none" refuses every answer that says its length
    const error_code came = attempt(stream, [&](auto done) {
      http::async_read_header(stream, buffer, parser, std::move(done));
    });
    if (came)
      throw Error("no answer from the server " + options_.url + ": " +
                  (sent ? sent : came).message());
    const bool good = parser.get().result() == http::status::ok;
    std::string refusal;
    std::vector<char> part(1u << 16);
    while (!parser.is_done()) {
      auto& body = parser.get().body();
      body.data = part.data();
      body.size = part.size();
      const error_code error = attempt(
          stream, [&](auto done) { http::async_read(stream, buffer, parser, std::move(done)); });
      if (error && error != http::error::need_buffer)
        throw Error("the answer of the server " + options_.url + " broke off: " + error.message());
      const std::string_view text(part.data(), part.size() - body.size);
      if (good)
        sink(text);
      else if (refusal.size() < kRefusalMax)
        refusal += text;
    }
    if (good) return;
    while (!refusal.empty() && refusal.back() == '\n') refusal.pop_back();
    throw QueryError("the server " + options_.url + " answered " +
                     std::to_string(parser.get().result_int()) + ": " +
                     refusal.substr(0, kRefusalMax));
  }

  static constexpr std::size_t kRefusalMax = 4096;  // characters a person reads of an error

  ServerOptions options_;
  Url url_;
  std::string settings_;
  asio::io_context io_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
};

}  // namespace

std::unique_ptr<Store> open_server(const ServerOptions& options) {
  return std::make_unique<ServerStore>(options);
}

}  // namespace tickpath::history
