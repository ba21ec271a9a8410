// `tickpath serve` as a process, and everything that can arrive at its port.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/file_descriptor.hpp"
#include "tests/support/finished.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"
#include "tests/support/provider.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Serve : public testing::Test {
 protected:
  Serve() : port_(free_port()) {}

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{
        program("tickpath-watch"),           "serve", "--run-dir", folder_.path(), "--listen",
        "127.0.0.1:" + std::to_string(port_)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void start(const std::vector<std::string>& more = {}) {
    server_ = std::make_unique<Process>(arguments(more));
    ASSERT_TRUE(server_->wait_for_output("serve: ready", kPatience)) << server_->output();
  }
  net::FileDescriptor connect() const {
    net::FileDescriptor file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(file.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return file;
  }
  static void send(const net::FileDescriptor& file, const std::string& bytes) {
    (void)::send(file.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Until the other end closes, or `enough` is there.
  static std::string receive(const net::FileDescriptor& file, const std::string& enough = "") {
    std::string text;
    char buffer[4096];
    pollfd readable{file.get(), POLLIN, 0};
    while ((enough.empty() || text.find(enough) == std::string::npos) &&
           ::poll(&readable, 1, std::chrono::milliseconds(kPatience).count()) > 0) {
      const ssize_t got = ::recv(file.get(), buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string ask(const std::string& bytes) const {
    const net::FileDescriptor file = connect();
    send(file, bytes);
    return receive(file);
  }
  static std::string get(const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + more +
           "\r\n";
  }
  void expect_alive() const {
    EXPECT_THAT(ask(get("/page.js")), StartsWith("HTTP/1.1 200 OK\r\n"));
  }

  Folder folder_;
  std::uint16_t port_;
  std::unique_ptr<Process> server_;
};

TEST_F(Serve, AnswersAndSendsEventsAndEndsInOrder) {
  start();
  EXPECT_THAT(ask(get("/")), HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(ask("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              ::testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"), HasSubstr("<!doctype html>"));
  const net::FileDescriptor listener = connect();
  send(listener, get("/events"));
  EXPECT_THAT(receive(listener, "nothing runs in"),
              HasSubstr("event: view\ndata: {\"programs\":[]"));
  EXPECT_THAT(ask(get("/metrics")), HasSubstr("tickpath_pipeline_running 0\n"));
  server_->signal(SIGTERM);
  EXPECT_THAT(server_->wait(), Ends(0));
}

TEST_F(Serve, RefusesToListenElsewhereWithoutAToken) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{program("tickpath-watch"), "serve"};
    all.insert(all.end(), more.begin(), more.end());
    if (std::ranges::find(more, "--run-dir") == more.end())
      all.insert(all.end(), {"--run-dir", folder_.path()});
    return run(all);
  };
  EXPECT_THAT(with({"--listen", "0.0.0.0:9"}),
              Ends(1, "other hosts could read everything", "--token-file"));
  write_file(folder_ / "token", "short\n");
  std::filesystem::permissions(folder_ / "token", std::filesystem::perms::owner_read);
  EXPECT_THAT(with({"--listen", "0.0.0.0:9", "--token-file", folder_ / "token"}),
              Ends(1, "16 or more letters"));
  EXPECT_THAT(with({"--listen", "here"}), Ends(1, "here"));
  EXPECT_THAT(
      with({"--listen", "127.0.0.1:" + std::to_string(port_), "--run-dir", folder_ / "none"}),
      Ends(1, "there is no run directory"));
  start();
  EXPECT_THAT(run(arguments()), Ends(1, "cannot listen at 127.0.0.1:", "--listen"));
}

TEST_F(Serve, WithATokenNothingIsReadWithoutIt) {
  write_file(folder_ / "token", "0123456789abcdef\n");
  std::filesystem::permissions(folder_ / "token", std::filesystem::perms::owner_read);
  start({"--token-file", folder_ / "token"});
  for (const char* const target : {"/", "/view.json", "/events", "/metrics", "/page.js", "/kill"})
    EXPECT_THAT(ask(get(target)), StartsWith("HTTP/1.1 401 ")) << target;
  EXPECT_THAT(ask(get("/metrics", "Authorization: Bearer 0123456789abcdef\r\n")),
              ::testing::Not(StartsWith("HTTP/1.1 401 ")));
}

TEST_F(Serve, OutlivesEveryKindOfGarbage) {
  start();
  std::mt19937_64 random(3);
  const std::vector<std::string> whole{
      get("/metrics"),
      "POST /kill HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 15\r\n\r\n{\"strategy\": 2}",
      "GET /events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"};
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole[random() % whole.size()];
    for (auto changes = random() % 8; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2 == 0) bytes.resize(random() % bytes.size());
    const net::FileDescriptor file = connect();
    send(file, bytes);
    if (random() % 4 == 0) ::shutdown(file.get(), SHUT_WR);
  }
  expect_alive();
  EXPECT_THAT(ask(std::string(64, '\0') + "\r\n\r\n"),
              ::testing::AnyOf("", StartsWith("HTTP/1.1 400 ")));
  EXPECT_THAT(
      ask("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(1 << 20, 'a') + "\r\n\r\n"),
      ::testing::AnyOf("", StartsWith("HTTP/1.1 431 ")));
  EXPECT_THAT(ask("POST /kill HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"),
              ::testing::AnyOf("", StartsWith("HTTP/1.1 413 "), StartsWith("HTTP/1.1 400 ")));
  EXPECT_THAT(ask("POST /kill HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  expect_alive();
}

TEST_F(Serve, HoldsABoundedNumberOfConnections) {
  start();
  std::vector<net::FileDescriptor> held;
  for (int i = 0; i < 300; ++i) {
    held.push_back(connect());
    send(held.back(), "GET / HTTP/1.1\r\n");  // and no more
  }
  EXPECT_THAT(ask(get("/")), ::testing::AnyOf("", StartsWith("HTTP/1.1 503 ")));
  held.clear();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string answer;
  while (!answer.starts_with("HTTP/1.1 200 ") && std::chrono::steady_clock::now() < end)
    answer = ask(get("/"));
  expect_alive();
}

// A client that asks for events and takes none is let go; the others get theirs.
TEST_F(Serve, ASlowClientKeepsNobodyWaiting) {
  start({"--interval", "0.1"});
  std::vector<net::FileDescriptor> slow;
  for (int i = 0; i < 10; ++i) {
    slow.push_back(connect());
    send(slow.back(), get("/events"));
  }
  const net::FileDescriptor listener = connect();
  send(listener, get("/events"));
  std::string text;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end && text.size() < 2'000)
    text += receive(listener, "\n\n");
  EXPECT_GE(text.size(), 2'000u);
  expect_alive();
}

}  // namespace
}  // namespace tickpath::test_support
