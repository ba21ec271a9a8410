// A peer that writes what it likes to a session of ours, and keeps what it hears.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fix/codec.hpp"
#include "common/fix/session.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/process.hpp"

namespace tickpath::fix::test {

// A whole message: `text` is what BodyLength counts, with '|' for the separator.
inline std::string framed(Version version, std::string text) {
  for (char& c : text)
    if (c == '|') c = kSoh;
  std::string message = "8=" + std::string(begin_string(version)) + kSoh +
                        "9=" + std::to_string(text.size()) + kSoh + text;
  char trailer[16];
  std::snprintf(trailer, sizeof(trailer), "10=%03u\x01", checksum(message));
  return message + trailer;
}

inline ExecutionReport plain_report(std::uint64_t id) {
  ExecutionReport result;
  result.order_id = result.exec_id = result.cl_ord_id = id;
  result.order_qty = result.leaves_qty = 100;
  result.symbol = Symbol::from("AAPL");
  return result;
}

// Our session is US, an acceptor unless a test says otherwise; the peer is PEER. Whatever is said
// and heard has '|' for the separator.
class RawPeer : public ::testing::Test {
 protected:
  RawPeer() {
    options_.role = SessionRole::kAcceptor;
    options_.sender = "US";
    options_.target = "PEER";
    options_.store_path = folder_ / "store";
    options_.store_messages = 64;
  }
  ~RawPeer() override {
    if (socket_ >= 0) ::close(socket_);
  }

  // The session anew, from its store.
  void open() {
    session_.reset();
    session_ = std::make_unique<Session>(options_);
  }
  // In place of the last connection, if there is one.
  void connect() {
    hang_up();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_TRUE(session_->attach(pair[0]));
    socket_ = pair[1];
    heard_.clear();
    closed_ = false;
  }
  // Until the session knows it.
  void hang_up() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    ASSERT_TRUE(until([&] { return !session_->connected(); }));
  }

  std::string message(const std::string& type, std::uint32_t number,
                      const std::string& body) const {
    return framed(options_.version, "35=" + type + "|49=PEER|56=US|34=" + std::to_string(number) +
                                        "|52=20261121-10:11:12.345|" + body);
  }
  void say(const std::string& type, std::uint32_t number, const std::string& body) {
    write(message(type, number, body));
  }
  // Polls while it writes: a socket takes only so much.
  void write(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent =
          ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        ASSERT_EQ(errno, EAGAIN) << "our session has hung up";
      } else {
        at += static_cast<std::size_t>(sent);
      }
      session_->poll(handler());
    }
  }

  void turn() {
    session_->poll(handler());
    char buffer[65536];
    const ssize_t got = socket_ < 0 ? -1 : ::recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
    for (ssize_t i = 0; i < got; ++i) heard_ += buffer[i] == kSoh ? '|' : buffer[i];
    closed_ |= got == 0;
  }
  // False, with what the session said, when it takes too long.
  [[nodiscard]] bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!done()) {
      turn();
      if (std::chrono::steady_clock::now() < end) continue;
      for (std::string line; session_->pop_event(line);)
        std::fprintf(stderr, "event: %s\n", line.c_str());
      return false;
    }
    return true;
  }
  [[nodiscard]] bool hear(const std::string& text) {
    return until([&] { return heard(text); });
  }
  bool heard(const std::string& text) const { return heard_.find(text) != std::string::npos; }
  std::size_t times(const std::string& text) const {
    std::size_t count = 0;
    for (std::size_t at = heard_.find(text); at != std::string::npos;
         at = heard_.find(text, at + 1))
      ++count;
    return count;
  }
  // Whom the session tells what it hears.
  virtual Handler& handler() { return nobody_; }

  test_support::Folder folder_;
  SessionOptions options_;
  std::unique_ptr<Session> session_;
  int socket_ = -1;
  bool closed_ = false;  // by our session
  std::string heard_;    // since the connection began, or a test cleared it

 private:
  Handler nobody_;
};

}  // namespace tickpath::fix::test
