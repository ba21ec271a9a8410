// Two ends of a set-up stream in one thread, over real sockets, with key directories of their own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "common/net/secure_keys.hpp"
#include "common/net/secure_stream.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"

namespace tickpath::net {

class KeyFolder : public test_support::Folder {
 public:
  KeyFolder& make(bool psk, std::int64_t valid_s = 86'400 * 30,
                  std::vector<std::string> roles = {}) {
    KeyRequest request{
        .directory = path(), .roles = std::move(roles), .valid_s = valid_s, .psk = psk};
    request.force = !request.roles.empty();
    make_keys(request);
    return *this;
  }
  std::shared_ptr<const SecureContext> load(SecurityMode mode, const std::string& role) const {
    return SecureContext::load({mode, path(), role});
  }
};

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class SecureStreamTest : public ::testing::Test {
 protected:
  // Generous: it decides only when a test that hangs has failed.
  static constexpr std::chrono::seconds kBound{20};

  ~SecureStreamTest() override {
    if (client_) client_->close();
    if (server_) server_->close();
    acceptor_.reset();
    io_.restart();
    io_.poll();
  }

  template <class Done>
  [[nodiscard]] bool run_until(Done done) {
    return test_support::turn_until(
        done,
        [&] {
          io_.restart();
          io_.run_one_for(std::chrono::milliseconds(20));
        },
        kBound);
  }

  void listen(std::shared_ptr<const SecureContext> context, const StreamLimits& limits = {}) {
    acceptor_ = std::make_unique<SecureAcceptor>(io_, std::move(context), "127.0.0.1", 0, limits);
    acceptor_->start(
        [this](std::shared_ptr<SecureStream> stream) { server_ = std::move(stream); },
        [this](const std::string&, const SecureFailure& failure) { server_failure_ = failure; });
  }

  // Until the client knows, and the listener too.
  void connect(std::shared_ptr<const SecureContext> context, const std::string& peer_role,
               const StreamLimits& limits = {}) {
    bool done = false;
    secure_connect(
        io_, std::move(context), {"127.0.0.1", acceptor_->port(), peer_role},
        [&](const SecureFailure& failure, std::shared_ptr<SecureStream> stream) {
          client_failure_ = failure;
          client_ = std::move(stream);
          done = true;
        },
        limits);
    const SecureCounters& counters = acceptor_->counters();
    ASSERT_TRUE(run_until([&] {
      return done && counters.authenticated.get() + counters.failures() == counters.accepted.get();
    }));
  }

  std::uint64_t failed(SecureCause cause) const {
    return acceptor_->counters().failed[static_cast<std::size_t>(cause)].get();
  }

  // The next frame as text, or the cause in brackets: "<timed out>".
  std::string receive(SecureStream& stream, std::uint32_t timeout_ms = 0) {
    std::optional<std::string> got;
    stream.receive(
        [&](const SecureFailure& failure, std::span<const std::byte> frame) {
          got = failure ? "<" + std::string(to_string(failure.cause)) + ">" : text_of(frame);
        },
        timeout_ms);
    if (!run_until([&] { return got.has_value(); })) return "<nothing>";
    return *got;
  }

  boost::asio::io_context io_;
  std::unique_ptr<SecureAcceptor> acceptor_;
  std::shared_ptr<SecureStream> server_, client_;
  SecureFailure server_failure_, client_failure_;
};

}  // namespace tickpath::net
