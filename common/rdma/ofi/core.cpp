#include "common/rdma/ofi/core.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include "common/base/fnv.hpp"
#include "common/rdma/ofi/connection.hpp"
#include "common/rdma/ofi/queue_pair.hpp"
#include "common/rdma/ofi/shm_names.hpp"
#include "common/rdma/verbs/choice.hpp"

namespace tickpath::rdma::detail {
namespace {

// Between looks for what only libfabric has to tell of connections, which is little: a peer that
// ends says so on the set-up stream. What a thread of ours noticed is asked for (ask_for_sweep()).
constexpr std::chrono::milliseconds kOfiSweepEvery{100};
// While a connection that has failed waits for its reason, or for its last messages.
constexpr std::chrono::milliseconds kOfiSweepSoon{1};

}  // namespace

OfiCore::OfiCore(const DeviceOptions& options)
    : options_(options),
      choice_(choose_ofi(options.device)),
      work_(io_.get_executor()),
      sweep_(io_) {
  open();
  try {
    if (options_.security.role.empty()) options_.security.role = "tool";
    security_ = net::SecureContext::load(options_.security);
  } catch (const net::SecureError& error) {
    throw SetupError(SetupCause::kPermission, error.what());
  }
  describe(options);
  if (choice_.core == "verbs;ofi_rxm") {
    note_once("rxm",
              "libfabric 1.17's ofi_rxm over verbs was seen to crash where a peer goes while "
              "messages are under way: fabric.device = \"verbs\" does not");
  }
  wait_for_sweep();
  thread_.start(io_, "ofi-events");
}

OfiCore::~OfiCore() {
  progress_.stop();  // it posts to the background thread
  post([this] {
    closing_ = true;
    sweep_.cancel();
  });
  work_.reset();
  thread_.run_out();
  for (const auto& each : connections()) each->abandon();
}

void OfiCore::open() {
  if (choice_.core == "shm") remove_ofi_shm_leftovers();
  const std::string name = "libfabric's " + choice_.core;
  fid_fabric* fabric = nullptr;
  ofi_require(ofi_library().fabric(choice_.info->fabric_attr, &fabric, nullptr),
              "cannot open " + name);
  fabric_.reset(fabric);
  if (choice_.connected) {
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_NONE;  // read by the clock: see kEventTick
    fid_eq* events = nullptr;
    ofi_require(::fi_eq_open(fabric_.get(), &attributes, &events, nullptr),
                "no event queue of " + name);
    events_.reset(events);
  }
  fid_domain* domain = nullptr;
  ofi_require(::fi_domain(fabric_.get(), choice_.info.get(), &domain, nullptr),
              "no domain of " + name);
  domain_.reset(domain);
}

void OfiCore::describe(const DeviceOptions& options) {
  const std::uint32_t version = choice_.info->fabric_attr->prov_version;
  info_ = {
      .provider = "ofi",
      .name = choice_.core,
      .attributes =
          "libfabric's " + choice_.core + " " + std::to_string(version >> 16) + "." +
          std::to_string(version & 0xffff) + ", address " +
          (choice_.address.ss_family == 0 ? "that of the set-up" : address_text(choice_.address)) +
          (choice_.connected ? ", connected endpoints" : ", endpoints without connections") +
          ", set-up " + std::string(net::to_string(options.security.mode)),
      .inline_bytes_max = kOfiInlineBytesMax,
      .queue_depth_max = kOfiQueueDepthMax,
      .message_bytes_max = 0,
      .revokes = true,
      .reads_by_copy = false,
      // The target's library executes, whatever the core provider: everything but this is as on
      // shm.
      .progress = Progress::kThread,
      .places_last_word = true,
      .atomics = AtomicReach::kCpu,
      .binds_keys = true};
}

std::uint32_t OfiCore::core_id() const noexcept {
  return static_cast<std::uint32_t>(fnv1a(choice_.core));
}

void OfiCore::wait_for_sweep() {
  sweep_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep_now();
  });
}

void OfiCore::sweep_now() {
  if (closing_) return;
  take_events();
  if (stranger_came_.load(std::memory_order_relaxed))
    note_once("message", "messages of others than the peer came to an endpoint of " + core_name() +
                             ", which anybody may send to, and were dropped");
  sweep_.expires_after(sweep() ? kOfiSweepEvery : kOfiSweepSoon);
  wait_for_sweep();
}

bool OfiCore::sweep() noexcept {
  bool finished = true;
  for (const auto& connection : connections()) finished &= connection->finish_failure();
  return finished;
}

// ------------------------------------------------------------------------- libfabric's events

void OfiCore::take_events() noexcept {
  const std::lock_guard lock(event_mutex_);
  take_events_locked();
}

void OfiCore::take_events_locked() noexcept {
  if (events_ == nullptr) return;
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> buffer;
  for (;;) {
    std::uint32_t event = 0;
    const ssize_t got = ::fi_eq_read(events_.get(), &event, buffer.data(), buffer.size(), 0);
    if (got == -FI_EAVAIL) {
      on_event_error();
    } else if (got >= static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) {
      on_event(event, *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data()),
               static_cast<std::size_t>(got) - sizeof(fi_eq_cm_entry));
    } else {
      return;
    }
  }
}

void OfiCore::on_event(std::uint32_t event, const fi_eq_cm_entry& entry,
                       std::size_t data_bytes) noexcept {
  if (event == FI_CONNREQ) return on_request(entry, data_bytes);
  for (const auto& each : connections()) {
    if (!each->uses(entry.fid)) continue;
    if (event == FI_CONNECTED) each->on_connected();
    if (event == FI_SHUTDOWN) each->on_shutdown();
  }
}

void OfiCore::on_event_error() noexcept {
  fi_eq_err_entry error{};
  if (::fi_eq_readerr(events_.get(), &error, 0) < 0) return;
  for (const auto& each : connections()) {
    if (each->uses(error.fid))
      each->on_refused("the data connection failed: " + ofi_text(error.err));
  }
}

// A stranger may connect to the data port, too: he has no token.
void OfiCore::on_request(const fi_eq_cm_entry& entry, std::size_t data_bytes) noexcept {
  FabricInfo info(entry.info);
  auto* const passive = reinterpret_cast<fid_pep*>(entry.fid);  // begins with its fid
  OfiConnectData data;
  bool valid = data_bytes >= sizeof(data);
  if (valid) {
    std::memcpy(&data, entry.data, sizeof(data));
    valid = data.magic == kOfiMagic && data.version == kOfiVersion;
  }
  const std::shared_ptr<OfiConnection> connection = valid ? take_expected(data.token) : nullptr;
  if (connection != nullptr) return connection->on_request(std::move(info), passive);
  note_once("stranger", "a data connection that belongs to no authenticated set-up was refused");
  ::fi_reject(passive, info->handle, nullptr, 0);
}

OfiCore::Passive OfiCore::listen(int family) {
  FabricInfo info = endpoint_info(core_info());
  sockaddr_storage address = choice_.address;
  if (address.ss_family != family) {
    address = {};
    address.ss_family = static_cast<sa_family_t>(family);
  }
  info->addr_format = family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
  set_address(info->src_addr, info->src_addrlen, address);
  const std::string name = "a passive endpoint of libfabric's " + choice_.core;
  fid_pep* made = nullptr;
  ofi_require(::fi_passive_ep(fabric_.get(), info.get(), &made, nullptr), "cannot make " + name);
  Passive passive{Fid<fid_pep>(made), 0};
  ofi_require(::fi_pep_bind(made, &events_->fid, 0), "cannot bind " + name);
  if (const int result = ::fi_listen(made); result != 0) {
    throw SetupError(SetupCause::kAddress, "data connections cannot be taken at " +
                                               address_text(address) + ": " + ofi_text(result));
  }
  sockaddr_storage bound{};
  std::size_t length = sizeof(bound);
  ofi_require(::fi_getname(&made->fid, &bound, &length), "no address of " + name);
  passive.port = ntohs(family == AF_INET ? reinterpret_cast<const sockaddr_in&>(bound).sin_port
                                         : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
  return passive;
}

std::uint16_t OfiCore::data_port(int family) {
  Passive& passive = family == AF_INET6 ? passive6_ : passive4_;
  const std::lock_guard lock(mutex_);
  if (passive.endpoint == nullptr) passive = listen(family);
  return passive.port;
}

}  // namespace tickpath::rdma::detail
