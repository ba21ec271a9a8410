// A peer that writes what it likes to a session of ours, and keeps what it hears.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/fix/session.hpp"
#include "tests/support/fix_bytes.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/sockets.hpp"

namespace tickpath::fix::test {

using test_support::fix_message;

inline std::string framed(Version version, const std::string& text) {
  return fix_message(begin_string(version), text);
}

inline NewOrderSingle plain_order(std::uint64_t id) {
  return {.cl_ord_id = id, .price = {1'000'000}, .order_qty = 100, .symbol = Symbol::from("AAPL")};
}
inline ExecutionReport plain_report(std::uint64_t id) {
  return {.order_id = id,
          .exec_id = id,
          .cl_ord_id = id,
          .order_qty = 100,
          .leaves_qty = 100,
          .symbol = Symbol::from("AAPL")};
}

// Keeps what its session tells it.
struct Recorder : Handler {
  std::vector<NewOrderSingle> orders;
  std::vector<ExecutionReport> reports;
  std::vector<std::uint32_t> seqs;
  std::vector<MessageReject> rejects;
  std::vector<std::uint64_t> refused;  // ClOrdIDs
  std::vector<bool> dups;
  std::vector<Resend> resends;
  std::uint64_t withheld = 0;  // an order that is not to be sent again
  int logons = 0;
  int logouts = 0;

  void on_new_order(const NewOrderSingle& order, const MessageInfo& info) noexcept override {
    orders.push_back(order);
    note(info);
  }
  void on_execution_report(const ExecutionReport& report,
                           const MessageInfo& info) noexcept override {
    reports.push_back(report);
    note(info);
  }
  void on_message_reject(const MessageReject& reject, const MessageInfo&) noexcept override {
    rejects.push_back(reject);
    rejects.back().text = {};
  }
  void on_refused(const RefusedMessage& message, const MessageInfo&) noexcept override {
    refused.push_back(message.cl_ord_id);
  }
  bool may_resend(const Resend& resend) noexcept override {
    resends.push_back(resend);
    return resend.cl_ord_id != withheld;
  }
  void on_logon() noexcept override { ++logons; }
  void on_logout() noexcept override { ++logouts; }
  std::vector<std::uint64_t> order_ids() const { return ids_of(orders); }
  std::vector<std::uint64_t> report_ids() const { return ids_of(reports); }

 private:
  template <class Message>
  static std::vector<std::uint64_t> ids_of(const std::vector<Message>& messages) {
    std::vector<std::uint64_t> ids;
    for (const Message& message : messages) ids.push_back(message.cl_ord_id);
    return ids;
  }
  void note(const MessageInfo& info) {
    seqs.push_back(info.seq_num);
    dups.push_back(info.poss_dup);
  }
};

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
    const auto [ours, theirs] = test_support::socket_pair();
    ASSERT_TRUE(session_->attach(ours));
    socket_ = theirs;
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
      session_->poll(seen_);
    }
  }

  void turn() {
    session_->poll(seen_);
    char buffer[65536];
    const ssize_t got = socket_ < 0 ? -1 : ::recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0)
      heard_ += test_support::with_bars(std::string(buffer, static_cast<std::size_t>(got)));
    closed_ |= got == 0;
  }
  // False, with what the session said, when it takes too long.
  [[nodiscard]] bool until(const std::function<bool()>& done) {
    if (test_support::turn_until(done, [&] { turn(); })) return true;
    for (std::string line; session_->pop_event(line);)
      std::fprintf(stderr, "event: %s\n", line.c_str());
    return false;
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
  // Logs on as an acceptor's peer does.
  void log_on() {
    open();
    connect();
    say("A", 1, "98=0|108=30|");
    ASSERT_TRUE(hear("|35=A|"));
    heard_.clear();
    next_seq_ = 2;
  }
  // The next number is used.
  void say(const std::string& type, const std::string& body) {
    write(message(type, next_seq_++, body));
  }

  test_support::Folder folder_;
  SessionOptions options_;
  Recorder seen_;  // what our session tells
  std::uint32_t next_seq_ = 1;
  std::unique_ptr<Session> session_;
  int socket_ = -1;
  bool closed_ = false;  // by our session
  std::string heard_;    // since the connection began, or a test cleared it
};

}  // namespace tickpath::fix::test
