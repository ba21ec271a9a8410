// Which peers may connect to a program: looks at a request before anything is granted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/log_budget.hpp"
#include "common/control/counters.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/shard.hpp"

namespace tickpath::rdma {
class ConnectionRequest;
class Listener;
}  // namespace tickpath::rdma

namespace tickpath::control {

// Control thread only.
class Admission {
 public:
  // self: the role of the program that listens.
  explicit Admission(wire::Role self) : self_(self) {}

  // Hands each request that waits to accept(), which answers it; what that throws (Error) counts as
  // failed(). A bounded number in a turn: newcomers in numbers must not keep a command waiting.
  // Peers that did not get so far are logged, within the same bounds as those that are refused.
  void serve(rdma::Listener& listener, const std::function<void(rdma::ConnectionRequest&)>& accept);

  // The peer's hello, if it may have the service that it asks for. nullopt: refused with a text
  // that says why, logged (within bounds) and counted. Refused are: what is not tickpath's; another
  // wire version; a role that differs from the one that the peer proved in set-up; a service that
  // wire/rights.hpp does not give to this role; a role that is barred.
  std::optional<wire::Hello> admit(rdma::ConnectionRequest& request);
  // The same for what the program itself finds wrong (an id that is taken).
  void refuse(rdma::ConnectionRequest& request, const std::string& why);
  // For a service whose hello says which symbols the peer needs (wire::Shard): whether they are
  // those of this program, or any will do. False: refused with a text that names `key`, where the
  // program's configuration says it.
  bool admit_shard(rdma::ConnectionRequest& request, const wire::Hello& hello, wire::Shard own,
                   const char* key);

  // And for one that was answered already, or with which the set-up failed: counted and logged
  // only.
  void failed(const std::string& peer, const std::string& why);

  // A barred role is refused until it is let in again; connections that exist are the program's to
  // end.
  void bar(wire::Role role, bool barred) noexcept;
  bool barred(wire::Role role) const noexcept;
  // Over restarts: a file with a role a line. No file: none is barred. Throws Error for one that
  // says nothing certain; save_barred() SystemError.
  void load_barred(const std::string& path);
  void save_barred(const std::string& path) const;
  std::vector<std::string> barred_names() const;

  // {group}.refused, .refused_version, .refused_role, .refused_right, .refused_barred,
  // .refused_shard
  void register_counters(Counters& counters, const std::string& group) const;
  // {group}.bad_peers, and by cause .bad_peers_hello, .bad_peers_wrong_key, ... `listener` is the
  // owner's, and may be filled later: nobody reads the counters before.
  static void register_bad_peers(Counters& counters, const std::string& group,
                                 const std::unique_ptr<rdma::Listener>& listener);
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  void tell(const std::string& peer, const std::string& why);
  std::string judge(const rdma::ConnectionRequest& request, std::optional<wire::Hello>& hello);

  wire::Role self_;
  std::uint32_t barred_ = 0;  // bit: wire::Role
  LogBudget budget_;
  std::uint64_t refused_ = 0, version_ = 0, role_ = 0, right_ = 0, barred_count_ = 0, shard_ = 0;
};

// wire::Role by its name; nullopt for anything else.
std::optional<wire::Role> role_of(const std::string& name) noexcept;

}  // namespace tickpath::control
