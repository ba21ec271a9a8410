// What the parts of the double share: the host as it is shown, and what was asked of it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <netinet/in.h>

#include "tests/support/fake_verbs/fake_verbs.hpp"

namespace tickpath::test_support::fake {

struct Device : ibv_device {
  FakeDevice fake;
};

struct Context : ibv_context {
  const FakeDevice* fake;
  std::deque<ibv_async_event> events;
};

struct Queue : ibv_cq {
  std::deque<ibv_wc> completions;
};

struct Channel : rdma_event_channel {
  std::deque<rdma_cm_event> events;
};

struct Asked {
  std::vector<ibv_ah_attr> handles;
  std::vector<std::string> bound;
  std::vector<std::string> resolved;
  std::vector<std::uint32_t> receive_bytes;
  std::vector<std::uint16_t> pkey_indexes;
  std::size_t joins = 0;
  std::vector<rdma_cm_id*> memberships;
};

struct World {
  FakeHost host;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Context*> contexts;  // open
  std::vector<Queue*> queues;      // there
  Asked asked;
  bool refuses_joins = false;
  bool keeps_completions = false;
  std::deque<std::pair<Queue*, ibv_wc>> kept;
  std::uint32_t next_number = 17;
};

inline std::mutex guard;  // of the world: devices have threads
inline World* world = nullptr;
using Lock = std::lock_guard<std::mutex>;

// The library's own function of that name.
template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define TICKPATH_PASS_ON(function, ...)                 \
  if (::tickpath::test_support::fake::world == nullptr) \
  return ::tickpath::test_support::fake::real(&function, #function)(__VA_ARGS__)

sockaddr_in6 v6_of(const std::string& text);
ibv_gid gid_of(const std::string& text);
std::string text_of(const sockaddr& address);
const FakePort* port_of(const ibv_context* context, std::uint32_t number);  // nullptr: none
// Descriptors that are watched become readable, and no longer.
void signal(int fd);
void drain(int fd);
// With the guard held.
void push(Channel& channel, rdma_cm_id* id, rdma_cm_event_type type, int status);

}  // namespace tickpath::test_support::fake
