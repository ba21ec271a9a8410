#include "common/control/admission.hpp"

#include <cerrno>
#include <fstream>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/replace_file.hpp"
#include "common/link/handshake.hpp"
#include "common/log/log.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/names.hpp"
#include "common/wire/rights.hpp"

namespace tickpath::control {
namespace {

constexpr int kRequestsPerTurn = 16;

constexpr std::uint32_t bit_of(wire::Role role) noexcept {
  return std::uint32_t{1} << (static_cast<unsigned>(role) & 31u);
}

// Why a peer does not get through an authenticated set-up. The other causes are of who connects.
constexpr std::pair<net::SecureCause, const char*> kBadPeerCauses[] = {
    {net::SecureCause::kNone, "hello"},
    {net::SecureCause::kPolicy, "policy"},
    {net::SecureCause::kTimeout, "timeout"},
    {net::SecureCause::kClosed, "closed"},
    {net::SecureCause::kNotTls, "not_tls"},
    {net::SecureCause::kWrongKey, "wrong_key"},
    {net::SecureCause::kUntrusted, "untrusted"},
    {net::SecureCause::kExpired, "expired"},
    {net::SecureCause::kUnknownRole, "unknown_role"},
    {net::SecureCause::kWrongRole, "wrong_role"},
    {net::SecureCause::kRefused, "refused"},
    {net::SecureCause::kFrame, "frame"},
    {net::SecureCause::kOverload, "overload"},
    {net::SecureCause::kSystem, "system"}};

}  // namespace

std::optional<wire::Role> role_of(const std::string& name) noexcept {
  for (auto value = static_cast<std::uint8_t>(wire::Role::kMdh);
       value <= static_cast<std::uint8_t>(wire::Role::kTool); ++value)
    if (wire::name(static_cast<wire::Role>(value)) == name) return static_cast<wire::Role>(value);
  return std::nullopt;
}

void Admission::serve(rdma::Listener& listener,
                      const std::function<void(rdma::ConnectionRequest&)>& accept) {
  for (int i = 0; i < kRequestsPerTurn; ++i) {
    const std::unique_ptr<rdma::ConnectionRequest> request = listener.next();
    if (request == nullptr) break;
    try {
      accept(*request);
    } catch (const Error& error) {
      failed(request->peer(), error.what());
    }
  }
  while (const std::optional<rdma::BadPeer> bad = listener.next_bad_peer())
    tell(bad->peer, bad->why);
}

std::optional<wire::Hello> Admission::admit(rdma::ConnectionRequest& request) {
  std::optional<wire::Hello> hello;
  const std::string why = judge(request, hello);
  if (why.empty()) return hello;
  refuse(request, why);
  return std::nullopt;
}

// The checks in order: what is not understood is not judged further.
std::string Admission::judge(const rdma::ConnectionRequest& request,
                             std::optional<wire::Hello>& hello) {
  const std::string self(wire::name(self_));
  hello = link::read_program<wire::Hello>(request.hello());
  if (!hello || hello->magic != wire::Hello::kMagic)
    return "this is a tickpath " + self + "; the hello is of something else";
  if (hello->wire_version != wire::kWireVersion) {
    ++version_;
    return self + " speaks wire version " + std::to_string(wire::kWireVersion) +
           ", the peer version " + std::to_string(hello->wire_version) +
           "; use programs of one build";
  }
  const std::string stated(wire::name(hello->role));
  const std::string proven = request.peer_role();
  if (!proven.empty() && proven != stated) {
    ++role_;
    return "it says to be " + stated + ", and its key is of " + proven;
  }
  if (!wire::may_use(self_, hello->role, hello->service)) {
    ++right_;
    return "role " + stated + " has no right to service " +
           std::string(wire::name(hello->service)) + " of " + self;
  }
  if (barred(hello->role)) {
    ++barred_count_;
    return "the rights of " + stated + " at " + self + " were revoked; `tickpath restore " +
           stated + "` gives them back";
  }
  return {};
}

void Admission::refuse(rdma::ConnectionRequest& request, const std::string& why) {
  failed(request.peer(), why);
  request.reject(why);
}

bool Admission::admit_shard(rdma::ConnectionRequest& request, const wire::Hello& hello,
                            wire::Shard own, const char* key) {
  const std::optional<wire::Shard> needed = wire::shard_of_word(hello.parameters[0]);
  if (!needed || *needed == own) return true;
  const auto part = [](wire::Shard shard) {
    return shard.whole() ? std::string("all symbols of its venue")
                         : "shard " + shard.text() + " of its venue";
  };
  ++shard_;
  refuse(request, "this " + std::string(wire::name(self_)) + " is of " + part(own) + " (" + key +
                      "), and " + wire::name_of(hello) + " needs one of " + part(*needed));
  return false;
}

void Admission::failed(const std::string& peer, const std::string& why) {
  ++refused_;
  tell(peer, why);
}

void Admission::tell(const std::string& peer, const std::string& why) {
  const auto now = LogBudget::Clock::now();
  if (const std::uint64_t unsaid = budget_.take_unsaid(now); unsaid != 0)
    log::warning("{} more connections were refused", unsaid);
  if (budget_.take(now)) log::warning("refused {}: {}", peer, why);
}

void Admission::bar(wire::Role role, bool barred) noexcept {
  if (barred)
    barred_ |= bit_of(role);
  else
    barred_ &= ~bit_of(role);
}

bool Admission::barred(wire::Role role) const noexcept { return (barred_ & bit_of(role)) != 0; }

void Admission::load_barred(const std::string& path) {
  std::ifstream file(path);
  if (!file && errno != ENOENT) throw SystemError("cannot read '" + path + "'", errno);
  for (std::string line; std::getline(file, line);) {
    const std::optional<wire::Role> role = role_of(line);
    if (!role)
      throw Error("'" + path + "' names roles that were revoked, and '" + line +
                  "' is none: mend it, or remove it to let all in");
    bar(*role, true);
    log::warning("{} is refused until `tickpath restore {}`: it was revoked in an earlier life",
                 line, line);
  }
}

std::vector<std::string> Admission::barred_names() const {
  std::vector<std::string> names;
  for (auto value = static_cast<std::uint8_t>(wire::Role::kMdh);
       value <= static_cast<std::uint8_t>(wire::Role::kTool); ++value)
    if (barred(static_cast<wire::Role>(value)))
      names.emplace_back(wire::name(static_cast<wire::Role>(value)));
  return names;
}

void Admission::save_barred(const std::string& path) const {
  std::string text;
  for (const std::string& name : barred_names()) text += name + "\n";
  replace_file(path, {text});
}

void Admission::register_counters(Counters& counters, const std::string& group) const {
  counters.add(group, "refused_connections", [this] { return refused_; });
  counters.add(group, "refused_version", [this] { return version_; });
  counters.add(group, "refused_role", [this] { return role_; });
  counters.add(group, "refused_right", [this] { return right_; });
  counters.add(group, "refused_barred", [this] { return barred_count_; });
  counters.add(group, "refused_shard", [this] { return shard_; });
}

void Admission::register_bad_peers(Counters& counters, const std::string& group,
                                   const std::unique_ptr<rdma::Listener>& listener) {
  counters.add(group, "bad_peers", [&listener] { return listener->bad_peers(); });
  for (const auto& [cause, name] : kBadPeerCauses)
    counters.add(group, std::string("bad_peers_") + name,
                 [&listener, cause = cause] { return listener->bad_peers_by(cause); });
}

}  // namespace tickpath::control
