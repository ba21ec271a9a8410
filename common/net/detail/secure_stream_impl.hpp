// One connection from TCP to closed; see secure_stream.hpp. io thread only, all of it.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/net/detail/secure_context.hpp"
#include "common/net/secure_stream.hpp"
#include "common/net/setup_frame.hpp"

namespace tickpath::net::detail {

enum class Side : std::uint8_t { kClient, kServer };

class StreamImpl final : public SecureStream, public std::enable_shared_from_this<StreamImpl> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Clock = std::chrono::steady_clock;

  // called_role: whom a client calls; empty for servers.
  StreamImpl(boost::asio::io_context& io, Socket socket,
             std::shared_ptr<const SecureContextImpl> context, const StreamLimits& limits,
             Side side, const std::string& called_role);

  // Handshake and greetings, until `deadline`. The handler runs once.
  void establish(Clock::time_point deadline, Sent handler);

  const SecurePeer& peer() const noexcept override { return peer_; }
  std::string local_address() const override { return local_address_; }
  void receive(Received handler, std::uint32_t timeout_ms) override;
  void send(std::span<const std::byte> frame, Sent handler) override;
  void finish() override;
  void close() override;

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    Sent sent;
  };

  // secure_handshake.cpp
  void tune_socket();
  void handshake();
  void on_handshake(const boost::system::error_code& error);
  SecureFailure identify_peer();
  SecureFailure identify_by_certificate();
  SecureFailure identify_by_key();
  void greet();
  void on_greeting(std::span<const std::byte> payload);
  SecureFailure judge(const Greeting& greeting);
  void refuse(SecureFailure failure);
  void settle(const SecureFailure& failure);
  SecureFailure explain(const boost::system::error_code& error);
  SecureFailure failure(SecureCause cause, const std::string& text) const;

  // secure_stream_impl.cpp
  void pump();
  void read_some();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void deliver(const SecureFailure& failure);
  void arm_read_timer(Clock::time_point deadline);
  void write_next();
  void on_written(const boost::system::error_code& error);
  void say_goodbye();
  void abort_after(std::uint32_t timeout_ms, const char* what);
  void fail(const SecureFailure& failure);
  void shut();

  boost::asio::io_context& io_;
  std::shared_ptr<const SecureContextImpl> context_;
  StreamLimits limits_;
  Side side_;
  HandshakeState state_;
  boost::asio::ssl::stream<Socket> tls_;
  std::string local_address_;
  SecurePeer peer_;

  Sent established_;
  boost::asio::steady_timer setup_timer_;

  FrameDecoder decoder_;
  std::vector<std::byte> chunk_;
  Received receiver_;
  bool reading_ = false;
  bool was_partial_ = false;
  boost::asio::steady_timer read_timer_;

  std::deque<Outgoing> queue_;
  boost::asio::steady_timer write_timer_;
  bool finishing_ = false;
  bool closed_ = false;
  SecureFailure end_;  // why it closed
};

}  // namespace tickpath::net::detail
