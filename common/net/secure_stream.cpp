#include "common/net/secure_stream.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>

#include "common/base/utc.hpp"
#include "common/net/detail/secure_stream_impl.hpp"

namespace tickpath::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using detail::SecureContextImpl;
using detail::StreamImpl;

std::string SecurePeer::text() const {
  std::string text = (role.empty() ? "a peer" : detail::printable(role)) + " at " + address;
  if (!authenticated) return text + " (not authenticated)";
  return expires_unix_s == 0 ? text : text + " (key until " + utc_text(expires_unix_s) + ")";
}

std::uint64_t SecureCounters::failures() const noexcept {
  std::uint64_t sum = 0;
  for (const Counter& counter : failed) sum += counter.get();
  return sum;
}

namespace {

std::shared_ptr<const SecureContextImpl> impl_of(std::shared_ptr<const SecureContext> context) {
  return std::static_pointer_cast<const SecureContextImpl>(std::move(context));
}

StreamImpl::Clock::time_point after_ms(std::uint32_t ms) {
  return StreamImpl::Clock::now() + std::chrono::milliseconds(ms);
}

}  // namespace

// ----------------------------------------------------------------------------------- listening

class SecureAcceptor::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, std::shared_ptr<const SecureContext> context, const std::string& host,
       std::uint16_t port, const StreamLimits& limits)
      : io_(io), context_(impl_of(std::move(context))), limits_(limits), acceptor_(io), retry_(io) {
    const std::string asked = host + ":" + std::to_string(port);
    try {
      tcp::resolver resolver(io);
      const tcp::endpoint endpoint =
          *resolver.resolve(host, std::to_string(port), tcp::resolver::passive).begin();
      detail::require_allowed(*context_, endpoint.address(), asked);
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen();
      bound_ = acceptor_.local_endpoint();
    } catch (const boost::system::system_error& error) {
      throw SecureError(SecureCause::kUnreachable,
                        "cannot listen at " + asked + ": " + error.code().message());
    }
  }

  void start(Accepted accepted, Refused refused) {
    asio::post(io_, [self = shared_from_this(), accepted = std::move(accepted),
                     refused = std::move(refused)]() mutable {
      self->accepted_ = std::move(accepted);
      self->refused_ = std::move(refused);
      self->accept();
    });
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    accepted_ = nullptr;
    refused_ = nullptr;
    for (const auto& stream : std::exchange(pending_, {})) stream->close();
  }

  const tcp::endpoint& bound() const noexcept { return bound_; }
  const SecureCounters& counters() const noexcept { return counters_; }

 private:
  void accept() {
    if (closed_) return;
    acceptor_.async_accept(
        [self = shared_from_this()](const error_code& error, tcp::socket socket) {
          self->on_accept(error, std::move(socket));
        });
  }

  void on_accept(const error_code& error, tcp::socket socket) {
    if (closed_) return;
    if (!error) {
      take(std::move(socket));
      return accept();
    }
    count("", {SecureCause::kSystem, "accept: " + error.message()});
    // Out of descriptors, most likely: asking again at once would only spin.
    constexpr std::chrono::milliseconds kRetryAfter{100};
    retry_.expires_after(kRetryAfter);
    retry_.async_wait([self = shared_from_this()](const error_code& gone) {
      if (!gone) self->accept();
    });
  }

  void take(tcp::socket socket) {
    counters_.accepted.add();
    error_code gone;  // a peer that went at once has no address, and is turned away
    const asio::ip::address from = socket.remote_endpoint(gone).address();
    const bool overloaded = too_many_of(from);
    const SecureFailure refused = overloaded ? SecureFailure{} : refusal(from, socket);
    const auto stream = std::make_shared<StreamImpl>(io_, std::move(socket), context_, limits_,
                                                     detail::Side::kServer, std::string());
    const std::string address = stream->peer().address;
    if (overloaded) {
      stream->close();
      return count(address, {SecureCause::kOverload, address + ": too many in set-up"});
    }
    if (refused) {
      stream->close();
      return count(address, refused);
    }
    const auto place = pending_.insert(pending_.end(), stream);
    stream->establish(after_ms(limits_.setup_timeout_ms),
                      [self = shared_from_this(), place, address](const SecureFailure& failure) {
                        self->established(place, address, failure);
                      });
  }

  bool too_many_of(const asio::ip::address& from) const {
    const auto of_address = [prefix = from.to_string() + ":"](const auto& each) {
      return each->peer().address.starts_with(prefix);
    };
    return pending_.size() >= limits_.pending_max ||
           std::ranges::count_if(pending_, of_address) >= limits_.pending_address_max;
  }

  // Before anything is read from it.
  SecureFailure refusal(const asio::ip::address& from, const tcp::socket& socket) const {
    error_code gone;
    const auto address = socket.remote_endpoint(gone);
    const std::string shown = address.address().to_string() + ":" + std::to_string(address.port());
    try {
      detail::require_allowed(*context_, from, shown);
      detail::require_own_user(*context_, socket, false, shown);
    } catch (const SecureError& error) {
      return {error.cause(), error.what()};
    }
    return {};
  }

  void established(std::list<std::shared_ptr<StreamImpl>>::iterator place,
                   const std::string& address, const SecureFailure& failure) {
    if (closed_) return;  // the list is gone
    const std::shared_ptr<StreamImpl> stream = *place;
    pending_.erase(place);
    if (failure) return count(address, failure);
    counters_.authenticated.add();
    if (accepted_) accepted_(stream);
  }

  void count(const std::string& address, const SecureFailure& failure) {
    counters_.failed[static_cast<std::size_t>(failure.cause)].add();
    if (refused_) refused_(address, failure);
  }

  asio::io_context& io_;
  std::shared_ptr<const SecureContextImpl> context_;
  StreamLimits limits_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  tcp::endpoint bound_;
  Accepted accepted_;
  Refused refused_;
  std::list<std::shared_ptr<StreamImpl>> pending_;
  SecureCounters counters_;
  bool closed_ = false;
};

SecureAcceptor::SecureAcceptor(asio::io_context& io, std::shared_ptr<const SecureContext> context,
                               const std::string& host, std::uint16_t port,
                               const StreamLimits& limits)
    : impl_(std::make_shared<Impl>(io, std::move(context), host, port, limits)) {}

SecureAcceptor::~SecureAcceptor() { impl_->close(); }

void SecureAcceptor::start(Accepted accepted, Refused refused) {
  impl_->start(std::move(accepted), std::move(refused));
}
void SecureAcceptor::close() { impl_->close(); }
std::uint16_t SecureAcceptor::port() const noexcept { return impl_->bound().port(); }
std::string SecureAcceptor::address() const {
  return impl_->bound().address().to_string() + ":" + std::to_string(impl_->bound().port());
}
const SecureCounters& SecureAcceptor::counters() const noexcept { return impl_->counters(); }

// ---------------------------------------------------------------------------------- connecting

namespace {

using Connected = std::function<void(const SecureFailure&, std::shared_ptr<SecureStream>)>;

// Resolves, connects, hands over to the stream. One deadline for all of it.
class Connector : public std::enable_shared_from_this<Connector> {
 public:
  Connector(asio::io_context& io, std::shared_ptr<const SecureContextImpl> context,
            SecureTarget target, Connected handler, const StreamLimits& limits)
      : io_(io),
        context_(std::move(context)),
        target_(std::move(target)),
        handler_(std::move(handler)),
        limits_(limits),
        deadline_(after_ms(limits.setup_timeout_ms)),
        resolver_(io),
        socket_(io),
        timer_(io) {}

  void run() {
    if (context_->options().mode == SecurityMode::kPsk && target_.peer_role.empty())
      return done({SecureCause::kPolicy, text("a pre-shared key belongs to a pair of roles: say "
                                              "which role is called")});
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error) return;
      self->done({SecureCause::kTimeout,
                  self->text("no answer within " + std::to_string(self->limits_.setup_timeout_ms) +
                             " ms")});
    });
    resolver_.async_resolve(target_.host, std::to_string(target_.port),
                            [self = shared_from_this()](const error_code& error,
                                                        const tcp::resolver::results_type& found) {
                              self->on_resolved(error, found);
                            });
  }

 private:
  std::string text(const std::string& what) const {
    return target_.host + ":" + std::to_string(target_.port) + ": " + what;
  }

  void on_resolved(const error_code& error, const tcp::resolver::results_type& found) {
    if (!handler_) return;
    if (error) return done({SecureCause::kUnreachable, text(error.message())});
    try {
      for (const auto& entry : found)
        detail::require_allowed(*context_, entry.endpoint().address(), target_.host);
    } catch (const SecureError& refused) {
      return done({refused.cause(), refused.what()});
    }
    asio::async_connect(
        socket_, found,
        [self = shared_from_this()](const error_code& failed, const tcp::endpoint&) {
          self->on_connected(failed);
        });
  }

  void on_connected(const error_code& error) {
    if (!handler_) return;
    if (error) return done({SecureCause::kUnreachable, text(error.message())});
    try {
      detail::require_own_user(*context_, socket_, true, text("what listens there"));
    } catch (const SecureError& refused) {
      return done({refused.cause(), refused.what()});
    }
    timer_.cancel();
    const auto stream = std::make_shared<StreamImpl>(io_, std::move(socket_), context_, limits_,
                                                     detail::Side::kClient, target_.peer_role);
    // Weak: the stream holds this handler, and lives by its own operations meanwhile.
    stream->establish(deadline_, [self = shared_from_this(),
                                  weak = std::weak_ptr(stream)](const SecureFailure& failure) {
      self->done(failure, failure ? nullptr : weak.lock());
    });
  }

  void done(const SecureFailure& failure, std::shared_ptr<SecureStream> stream = nullptr) {
    if (!handler_) return;
    const Connected handler = std::exchange(handler_, nullptr);
    timer_.cancel();
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
    handler(failure, std::move(stream));
  }

  asio::io_context& io_;
  std::shared_ptr<const SecureContextImpl> context_;
  SecureTarget target_;
  Connected handler_;
  StreamLimits limits_;
  StreamImpl::Clock::time_point deadline_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
};

}  // namespace

void secure_connect(asio::io_context& io, std::shared_ptr<const SecureContext> context,
                    const SecureTarget& target, Connected handler, const StreamLimits& limits) {
  const auto connector = std::make_shared<Connector>(io, impl_of(std::move(context)), target,
                                                     std::move(handler), limits);
  asio::post(io, [connector] { connector->run(); });
}

}  // namespace tickpath::net
