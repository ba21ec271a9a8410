#include "common/net/detail/secure_stream_impl.hpp"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "common/base/check.hpp"

namespace tickpath::net::detail {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr std::size_t kChunkBytes = 4096;  // one read; a hello with regions is about half of it
// Frames that wait to leave. Set-up has a handful; more means that the peer does not read.
constexpr std::size_t kQueueMax = 64;
}  // namespace

StreamImpl::StreamImpl(asio::io_context& io, Socket socket,
                       std::shared_ptr<const SecureContextImpl> context, const StreamLimits& limits,
                       Side side, const std::string& called_role)
    : io_(io),
      context_(std::move(context)),
      limits_(limits),
      side_(side),
      tls_(std::move(socket), context_->tls()),
      setup_timer_(io),
      decoder_(limits.frame_bytes_max),
      chunk_(kChunkBytes),
      read_timer_(io),
      write_timer_(io) {
  state_.called_role = called_role;
  SecureContextImpl::attach(tls_.native_handle(), state_);
  error_code ignored;
  const auto remote = tls_.next_layer().remote_endpoint(ignored);
  peer_.address = remote.address().to_string() + ":" + std::to_string(remote.port());
  local_address_ = tls_.next_layer().local_endpoint(ignored).address().to_string();
}

// ----------------------------------------------------------------------------------- receiving

void StreamImpl::receive(Received handler, std::uint32_t timeout_ms) {
  TICKPATH_CHECK(!receiver_, "one receive at a time");
  receiver_ = std::move(handler);
  asio::post(io_, [self = shared_from_this(), timeout_ms] {
    if (self->closed_) return self->deliver(self->end_);
    if (timeout_ms != 0)
      self->arm_read_timer(Clock::now() + std::chrono::milliseconds(timeout_ms));
    else
      self->read_timer_.expires_at(Clock::time_point::max());
    self->was_partial_ = false;
    self->pump();
  });
}

// Gives the receiver what is there, or reads on.
void StreamImpl::pump() {
  if (closed_ || !receiver_) return;
  switch (decoder_.status()) {
    case FrameDecoder::Status::kFrame:
      return deliver({});
    case FrameDecoder::Status::kBad:
      if (!context_->encrypted() && decoder_.looks_like_tls())
        return fail(failure(SecureCause::kNotTls,
                            "the peer speaks TLS and we do not: set the same security.mode"));
      return fail(failure(SecureCause::kFrame, "a frame of length 0 or more than " +
                                                   std::to_string(limits_.frame_bytes_max) +
                                                   " bytes"));
    case FrameDecoder::Status::kNeedMore:
      break;
  }
  if (decoder_.partial() && !was_partial_) {
    was_partial_ = true;
    const auto deadline = Clock::now() + std::chrono::milliseconds(limits_.frame_timeout_ms);
    if (deadline < read_timer_.expiry()) arm_read_timer(deadline);
  }
  if (!reading_) read_some();
}

void StreamImpl::read_some() {
  reading_ = true;
  const auto handler = [self = shared_from_this()](const error_code& error, std::size_t bytes) {
    self->on_read(error, bytes);
  };
  if (context_->encrypted())
    tls_.async_read_some(asio::buffer(chunk_), handler);
  else
    tls_.next_layer().async_read_some(asio::buffer(chunk_), handler);
}

void StreamImpl::on_read(const error_code& error, std::size_t bytes) {
  reading_ = false;
  if (closed_) return;
  if (error) return fail(explain(error));
  decoder_.append(std::span(chunk_).first(bytes));
  pump();
}

void StreamImpl::deliver(const SecureFailure& failure) {
  if (!receiver_) return;
  read_timer_.cancel();
  const Received handler = std::exchange(receiver_, nullptr);
  if (failure) return handler(failure, {});
  const std::span<const std::byte> frame = decoder_.frame();
  const std::vector<std::byte> copy(frame.begin(), frame.end());
  decoder_.pop();
  handler({}, copy);
}

void StreamImpl::arm_read_timer(Clock::time_point deadline) {
  read_timer_.expires_at(deadline);
  read_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    // A timer that was moved after it had fired comes here too early.
    if (error || self->closed_ || !self->receiver_ || Clock::now() < self->read_timer_.expiry())
      return;
    self->fail(
        self->failure(SecureCause::kTimeout, self->decoder_.partial()
                                                 ? "it began a frame and did not end it in time"
                                                 : "it said nothing in time"));
  });
}

// ------------------------------------------------------------------------------------- sending

void StreamImpl::send(std::span<const std::byte> frame, Sent handler) {
  SecureFailure refusal;
  if (frame.empty() || frame.size() > limits_.frame_bytes_max)
    refusal = failure(SecureCause::kFrame, "a frame of " + std::to_string(frame.size()) +
                                               " bytes cannot be sent, at most " +
                                               std::to_string(limits_.frame_bytes_max));
  else if (closed_ || finishing_)
    refusal = closed_ ? end_ : failure(SecureCause::kClosed, "we have said goodbye already");
  else if (queue_.size() >= kQueueMax)
    refusal = failure(SecureCause::kOverload, "the peer does not read");
  if (refusal) {
    if (handler) asio::post(io_, [handler = std::move(handler), refusal] { handler(refusal); });
    return;
  }
  queue_.push_back({encode_frame(frame), std::move(handler)});
  if (queue_.size() == 1) write_next();
}

void StreamImpl::write_next() {
  abort_after(limits_.frame_timeout_ms, "it did not take what we sent in time");
  const auto handler = [self = shared_from_this()](const error_code& error, std::size_t) {
    self->on_written(error);
  };
  const auto buffer = asio::buffer(queue_.front().bytes);
  if (context_->encrypted())
    asio::async_write(tls_, buffer, handler);
  else
    asio::async_write(tls_.next_layer(), buffer, handler);
}

void StreamImpl::on_written(const error_code& error) {
  write_timer_.expires_at(Clock::time_point::max());
  if (closed_) return;
  // In set-up the peer may have said why it closed: the reader will find it, or the same error.
  if (error && !established_) return fail(explain(error));
  const Sent sent = std::move(queue_.front().sent);
  queue_.pop_front();
  if (sent) sent({});
  if (closed_) return;
  if (!queue_.empty())
    write_next();
  else if (finishing_)
    say_goodbye();
}

void StreamImpl::abort_after(std::uint32_t timeout_ms, const char* what) {
  write_timer_.expires_after(std::chrono::milliseconds(timeout_ms));
  write_timer_.async_wait([self = shared_from_this(), what](const error_code& error) {
    if (error || self->closed_ || Clock::now() < self->write_timer_.expiry()) return;
    self->fail(self->failure(SecureCause::kTimeout, what));
  });
}

// ------------------------------------------------------------------------------------- closing

void StreamImpl::finish() {
  if (closed_ || finishing_) return;
  finishing_ = true;
  if (queue_.empty()) say_goodbye();
}

// TLS: close_notify, and the peer's. Plain: the end of our half, and of the peer's.
void StreamImpl::say_goodbye() {
  abort_after(limits_.frame_timeout_ms, "it did not close in time");
  if (context_->encrypted()) {
    tls_.async_shutdown([self = shared_from_this()](const error_code&) {
      self->fail(self->failure(SecureCause::kClosed, "closed in order"));
    });
    return;
  }
  error_code ignored;
  tls_.next_layer().shutdown(Socket::shutdown_send, ignored);
  if (!receiver_) receive([](const SecureFailure&, std::span<const std::byte>) {}, 0);
}

void StreamImpl::close() { fail(failure(SecureCause::kClosed, "we closed it")); }

void StreamImpl::fail(const SecureFailure& failure) {
  if (closed_) return;
  closed_ = true;
  end_ = failure;
  shut();
  asio::post(io_, [self = shared_from_this()] {
    self->settle(self->end_);
    self->deliver(self->end_);
    while (!self->queue_.empty()) {
      const Sent sent = std::move(self->queue_.front().sent);
      self->queue_.pop_front();
      if (sent) sent(self->end_);
    }
  });
}

void StreamImpl::shut() {
  setup_timer_.cancel();
  read_timer_.cancel();
  write_timer_.cancel();
  error_code ignored;
  tls_.next_layer().shutdown(Socket::shutdown_both, ignored);
  tls_.next_layer().close(ignored);
}

}  // namespace tickpath::net::detail
