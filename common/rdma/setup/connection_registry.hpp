// What the core of a device knows of its connections that are set up over an authenticated stream,
// and what it has noted for its program. Locks, but never on the datapath.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/rdma/setup/connection_token.hpp"

namespace tickpath::rdma::detail {

// Any thread.
class DeviceNotes {
 public:
  // Each key's text once.
  void note_once(const std::string& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (noted_.insert(key).second) notes_.push_back(text);
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

// Any thread.
template <class Connection>
class ConnectionRegistry {
 public:
  void watch(const std::shared_ptr<Connection>& connection) {
    const std::lock_guard lock(mutex_);
    connections_[connection.get()] = connection;
  }
  void forget(const Connection& connection) noexcept {
    const std::lock_guard lock(mutex_);
    connections_.erase(&connection);
  }
  std::vector<std::shared_ptr<Connection>> connections() const {
    std::vector<std::shared_ptr<Connection>> live;
    const std::lock_guard lock(mutex_);
    for (const auto& [address, weak] : connections_) {
      if (auto connection = weak.lock()) live.push_back(std::move(connection));
    }
    return live;
  }

  // The connection that a data connection with this token belongs to.
  void expect(const ConnectionToken& token, const std::shared_ptr<Connection>& connection) {
    const std::lock_guard lock(mutex_);
    expected_[token] = connection;
  }
  void expect_no_more(const ConnectionToken& token) noexcept {
    const std::lock_guard lock(mutex_);
    expected_.erase(token);
  }
  // nullptr: a stranger's.
  std::shared_ptr<Connection> take_expected(const ConnectionToken& token) {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(token);
    if (found == expected_.end()) return nullptr;
    std::shared_ptr<Connection> connection = found->second.lock();
    expected_.erase(found);  // once: a second request with the same token is somebody else's
    return connection;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const Connection*, std::weak_ptr<Connection>> connections_;
  std::map<ConnectionToken, std::weak_ptr<Connection>> expected_;
};

}  // namespace tickpath::rdma::detail
