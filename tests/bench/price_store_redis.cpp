#include "tests/bench/price_store_redis.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/support/provider.hpp"
#ifdef TICKPATH_HIREDIS
#include <hiredis/hiredis.h>
#endif

namespace tickpath::bench {
namespace {

constexpr const char* kServer = "/usr/bin/redis-server";

}  // namespace

std::string RedisServer::missing() {
#ifndef TICKPATH_HIREDIS
  return "built without hiredis: apt-get install libhiredis-dev redis-server, then configure again";
#else
  if (::access(kServer, X_OK) != 0)
    return std::string("there is no ") + kServer + ": apt-get install redis-server";
  return {};
#endif
}

#ifndef TICKPATH_HIREDIS

struct RedisClient::Context {};
RedisServer::RedisServer() { throw Error(missing()); }
RedisServer::~RedisServer() = default;
RedisClient::RedisClient(const RedisServer&, bool) { throw Error(RedisServer::missing()); }
RedisClient::~RedisClient() = default;
void RedisClient::set(const std::string&, const std::string&) {}
std::size_t RedisClient::get(const std::string&) { return 0; }
std::size_t RedisClient::get_pipelined(std::span<const std::string>) { return 0; }
std::size_t RedisClient::get_many(std::span<const std::string>) { return 0; }

#else

struct RedisClient::Context {
  struct Free {
    void operator()(redisContext* context) const { ::redisFree(context); }
    void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;
  std::unique_ptr<redisContext, Free> redis;

  Reply checked(void* reply) const {
    if (reply == nullptr) throw Error(std::string("Redis: ") + redis->errstr);
    return Reply(static_cast<redisReply*>(reply));
  }
  Reply next() const {
    void* reply = nullptr;
    (void)::redisGetReply(redis.get(), &reply);
    return checked(reply);
  }
};

RedisServer::RedisServer() : port_(test_support::free_port()) {
  char folder[] = "/tmp/tickpath_redis_XXXXXX";
  if (::mkdtemp(folder) == nullptr) throw Error("no folder for Redis");
  folder_ = folder;
  socket_ = folder_ + "/socket";
  const std::string port = std::to_string(port_);
  process_ = ::fork();
  if (process_ == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 1);
    ::execl(kServer, kServer, "--port", port.c_str(), "--bind", "127.0.0.1", "--unixsocket",
            socket_.c_str(), "--save", "", "--appendonly", "no", "--dir", folder_.c_str(), nullptr);
    ::_exit(127);
  }
  for (int tries = 0; tries < 500; ++tries) {
    if (::access(socket_.c_str(), F_OK) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw Error(std::string(kServer) + " did not start");
}

RedisServer::~RedisServer() {
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

RedisClient::RedisClient(const RedisServer& server, bool tcp)
    : context_(std::make_unique<Context>()) {
  context_->redis.reset(tcp ? ::redisConnect("127.0.0.1", server.port())
                            : ::redisConnectUnix(server.socket().c_str()));
  if (!context_->redis || context_->redis->err != 0) throw Error("cannot connect to Redis");
}
RedisClient::~RedisClient() = default;

void RedisClient::set(const std::string& key, const std::string& value) {
  (void)context_->checked(::redisCommand(context_->redis.get(), "SET %b %b", key.data(), key.size(),
                                         value.data(), value.size()));
}

std::size_t RedisClient::get(const std::string& key) {
  return context_->checked(::redisCommand(context_->redis.get(), "GET %b", key.data(), key.size()))
      ->len;
}

std::size_t RedisClient::get_pipelined(std::span<const std::string> keys) {
  for (const std::string& key : keys)
    (void)::redisAppendCommand(context_->redis.get(), "GET %b", key.data(), key.size());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) bytes += context_->next()->len;
  return bytes;
}

std::size_t RedisClient::get_many(std::span<const std::string> keys) {
  std::vector<const char*> words{"MGET"};
  std::vector<std::size_t> lengths{4};
  for (const std::string& key : keys) {
    words.push_back(key.data());
    lengths.push_back(key.size());
  }
  const Context::Reply reply = context_->checked(::redisCommandArgv(
      context_->redis.get(), static_cast<int>(words.size()), words.data(), lengths.data()));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < reply->elements; ++i) bytes += reply->element[i]->len;
  return bytes;
}

#endif

}  // namespace tickpath::bench
