// A Redis server of one's own, and a client of it (hiredis), for the benchmark of the price store.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <sys/types.h>

namespace tickpath::bench {

// Keeps nothing on disk; ends with the object.
class RedisServer {
 public:
  // Empty, or what there is not, and how to get it.
  static std::string missing();
  RedisServer();  // throws Error
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  const std::string& socket() const { return socket_; }
  int port() const { return port_; }

 private:
  std::string folder_;
  std::string socket_;
  int port_ = 0;
  pid_t process_ = -1;
};

// Sums of the lengths of what came back. Throws Error.
class RedisClient {
 public:
  RedisClient(const RedisServer& server, bool tcp);
  ~RedisClient();
  void set(const std::string& key, const std::string& value);
  std::size_t get(const std::string& key);
  std::size_t get_pipelined(std::span<const std::string> keys);
  std::size_t get_many(std::span<const std::string> keys);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace tickpath::bench
