#include "tests/support/fake_verbs/fake_verbs.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <unistd.h>

#include "tests/support/fake_verbs/fake_world.hpp"

namespace tickpath::test_support {
namespace fake {

sockaddr_in6 v6_of(const std::string& text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  ::inet_pton(AF_INET6, text.c_str(), &address.sin6_addr);
  return address;
}

ibv_gid gid_of(const std::string& text) {
  ibv_gid gid{};
  const sockaddr_in6 address = v6_of(text);
  std::memcpy(gid.raw, &address.sin6_addr, sizeof(gid.raw));
  return gid;
}

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* bytes =
      address.sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  ::inet_ntop(address.sa_family, bytes, text, sizeof(text));
  return text;
}

const FakePort* port_of(const ibv_context* context, std::uint32_t number) {
  const auto& ports = static_cast<const Context*>(context)->fake->ports;
  return number == 0 || number > ports.size() ? nullptr : &ports[number - 1];
}

void signal(int fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof(one));
}

void drain(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd, &count, sizeof(count));
}

}  // namespace fake

namespace {

using fake::guard;
using fake::Lock;
using fake::world;

constexpr char kGuid[] = "fe80::2:c903:0:1";

FakeDevice one_port(const std::string& name, const std::string& address) {
  FakePort port{.gids = {"fe80::1", "fe80::1"}};
  if (!address.empty()) port.gids.push_back("::ffff:" + address);
  return {.name = name, .ports = {port}};
}

std::vector<std::uint8_t> ipoib_broadcast(std::uint16_t pkey) {
  std::vector<std::uint8_t> bytes(20, 0xff);
  bytes[8] = static_cast<std::uint8_t>(pkey >> 8);
  bytes[9] = static_cast<std::uint8_t>(pkey);
  return bytes;
}

// Preloaded into a program, it shows the host that the environment names.
[[maybe_unused]] const FakeVerbs* const preloaded = [] {
  const char* const kind = std::getenv("TICKPATH_FAKE_VERBS");
  return kind == nullptr ? nullptr : new FakeVerbs(fake_host(kind));  // until the program ends
}();

}  // namespace

std::vector<std::uint8_t> ipoib_address(const std::string& gid) {
  std::vector<std::uint8_t> bytes = {0x80, 0, 0, 0x48};
  const ibv_gid raw = fake::gid_of(gid);
  bytes.insert(bytes.end(), raw.raw, raw.raw + sizeof(raw.raw));
  return bytes;
}

FakeHost fake_host(std::string_view kind) {
  if (kind == "roce") return {{one_port("mlx5_0", "10.0.0.1")}, {}};
  if (kind == "two_devices") return {{one_port("mlx5_0", ""), one_port("mlx5_1", "10.0.1.1")}, {}};
  if (kind == "dual_port") {
    FakeDevice device = one_port("mlx4_0", "");
    device.ports.push_back(one_port("", "10.0.1.1").ports[0]);
    return {{device}, {}};
  }
  if (kind == "infiniband") {
    const FakePort port{.ethernet = false, .gids = {kGuid}, .pkeys = {0xffff, 0x8001}};
    return {{{.name = "mlx5_0", .ports = {port}}},
            {{"eth0", {2, 0, 0, 0, 0, 1}, {255, 255, 255, 255, 255, 255}, {"192.168.0.1"}},
             {"ib0", ipoib_address(kGuid), ipoib_broadcast(0xffff), {"10.0.0.1", "fe80::5"}},
             {"ib0.8001", ipoib_address(kGuid), ipoib_broadcast(0x8001), {"10.8.0.1"}}}};
  }
  if (kind == "vlan") {
    FakeHost host = fake_host("two_devices");
    host.devices[0].ports[0].gids = {"fe80::1", "::ffff:10.0.0.1", "::ffff:10.7.0.1"};
    host.interfaces = {{"eth0", {2, 0, 0, 0, 0, 1}, {}, {"10.0.0.1"}},
                       {"eth0.7", {2, 0, 0, 0, 0, 1}, {}, {"10.7.0.1"}},
                       {"eth1", {2, 0, 0, 0, 0, 2}, {}, {"10.0.1.1"}}};
    return host;
  }
  if (kind == "vf") {
    FakeHost host = fake_host("roce");
    host.devices[0].binds_windows = false;
    return host;
  }
  if (kind == "efa") {
    FakeDevice device = one_port("efa_0", "");
    device.transport = IBV_TRANSPORT_UNSPECIFIED;
    return {{device}, {}};
  }
  throw std::invalid_argument("no fake host is called " + std::string(kind));
}

FakeVerbs::FakeVerbs(FakeHost host) {
  auto made = std::make_unique<fake::World>();
  made->host = std::move(host);
  for (const FakeDevice& fake : made->host.devices) {
    auto& device = made->devices.emplace_back(std::make_unique<fake::Device>());
    device->fake = fake;
    device->transport_type = fake.transport;
    std::strncpy(device->name, fake.name.c_str(), sizeof(device->name) - 1);
  }
  const Lock lock(guard);
  world = made.release();
}

FakeVerbs::~FakeVerbs() {
  const Lock lock(guard);
  delete std::exchange(world, nullptr);
}

std::vector<ibv_ah_attr> FakeVerbs::handles() const {
  const Lock lock(guard);
  return world->asked.handles;
}

std::vector<std::string> FakeVerbs::bound() const {
  const Lock lock(guard);
  return world->asked.bound;
}

std::vector<std::string> FakeVerbs::resolved() const {
  const Lock lock(guard);
  return world->asked.resolved;
}

std::vector<std::uint32_t> FakeVerbs::receive_bytes() const {
  const Lock lock(guard);
  return world->asked.receive_bytes;
}

std::vector<std::uint16_t> FakeVerbs::pkey_indexes() const {
  const Lock lock(guard);
  return world->asked.pkey_indexes;
}

std::size_t FakeVerbs::joins() const {
  const Lock lock(guard);
  return world->asked.joins;
}

std::size_t FakeVerbs::memberships() const {
  const Lock lock(guard);
  return world->asked.memberships.size();
}

void FakeVerbs::tell(rdma_cm_event_type type, int status) {
  const Lock lock(guard);
  rdma_cm_id* const id = world->asked.memberships.back();
  fake::push(static_cast<fake::Channel&>(*id->channel), id, type, status);
}

void FakeVerbs::move_gid(const std::string& gid) {
  const Lock lock(guard);
  auto& gids = world->devices.front()->fake.ports[0].gids;
  *std::find(gids.begin(), gids.end(), gid) = "::";
  gids.push_back(gid);
}

void FakeVerbs::refuse_joins(bool refuse) {
  const Lock lock(guard);
  world->refuses_joins = refuse;
}

void FakeVerbs::keep_completions() {
  const Lock lock(guard);
  world->keeps_completions = true;
}

void FakeVerbs::flush_kept() {
  const Lock lock(guard);
  for (auto& [queue, done] : world->kept) {
    done.status = IBV_WC_WR_FLUSH_ERR;
    queue->completions.push_back(done);
  }
  world->kept.clear();
}

void FakeVerbs::tell(const ibv_async_event& event) {
  const Lock lock(guard);
  fake::Context& context = *world->contexts.front();
  context.events.push_back(event);
  fake::signal(context.async_fd);
}

void FakeVerbs::fail_queue() {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_CQ_ERR;
  {
    const Lock lock(guard);
    event.element.cq = world->queues.back();
  }
  tell(event);
}

}  // namespace tickpath::test_support
