#include "common/rdma/verbs/core.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/rdma/verbs/attributes.hpp"
#include "common/rdma/verbs/connection.hpp"
#include "common/rdma/verbs/datagram_queue_pair.hpp"
#include "common/rdma/verbs/features.hpp"
#include "common/rdma/verbs/iwarp_queues.hpp"
#include "common/rdma/verbs/probe.hpp"

namespace tickpath::rdma::detail {
namespace {

constexpr int kCmBacklog = 64;
constexpr int kPortTries = 16;
// Between looks for connections whose failure a polling thread noted: a polling thread makes no
// system call to wake anybody. Well within the 200 ms that the reason of a failure may take.
constexpr std::chrono::milliseconds kSweepEvery{10};

[[noreturn]] void throw_errno(SetupCause cause, const std::string& what) {
  throw SetupError(cause, what + ": " + std::strerror(errno));
}

// A second descriptor of the same file for Asio to own; never blocks.
int watched(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw_errno(SetupCause::kSystem, "fcntl");
  return copy;
}

// drivers/infiniband/sw/siw/siw.h: SIW_VENDOR_ID.
constexpr std::uint32_t kSoftIwarp = 0x626d74;

// What link asks for: a slot, by one cache line.
constexpr std::uint32_t kUsualInlineBytes = 64;
// Deeper queues than fabric.send_depth may ask for are not probed, nor claimed.
constexpr std::uint32_t kDepthMax = 32'768;

// Requests of a receive queue, each with a place for its completion.
std::uint32_t receive_depth_max(const ibv_device_attr& limits) {
  return std::min(static_cast<std::uint32_t>(std::min(limits.max_qp_wr, limits.max_cqe)),
                  kDepthMax);
}

// Requests of one queue. Over iWARP each may be several of the device's.
std::uint32_t iwarp_depth_max(const ibv_device_attr& limits) {
  const auto most = static_cast<std::uint32_t>(std::min(limits.max_qp_wr, limits.max_cqe));
  const std::uint32_t own = IwarpQueues::device_depth(0);
  return (most - own) / (IwarpQueues::device_depth(1) - own);
}

std::string describe_device(const ChosenDevice& chosen, const DeviceOptions& options,
                            const ibv_device_attr& limits, std::uint32_t inline_bytes,
                            bool windows) {
  const VerbsAttributes attributes =
      verbs_attributes(options.verbs, {}, limits, responder_depth(options.verbs, limits),
                       asked_rnr_us(options.verbs, {}));
  const bool iwarp = chosen.context->device->transport_type == IBV_TRANSPORT_IWARP;
  return "port " + std::to_string(chosen.port) + ", " + chosen.gid + ", " +
         (iwarp ? describe_iwarp(attributes)
                : "MTU " + std::to_string(128u << chosen.port_attributes.active_mtu) + ", " +
                      describe(attributes) + ", traffic class " +
                      std::to_string(options.verbs.traffic_class)) +
         ", inline up to " + std::to_string(inline_bytes) + " bytes, keys " +
         (windows ? "for one queue pair each (memory windows)"
                  : "for any queue pair of the device") +
         ", atomics " + std::string(to_string(atomic_reach(limits))) + ", " +
         describe_ordering(options.verbs) + ", " + describe_features(chosen.context.get()) +
         ", set-up " + std::string(net::to_string(options.security.mode));
}

}  // namespace

namespace {

// libmlx5 leaves out its locks then (rdma-core, single_threaded_app()). Here one thread polls a
// queue while another one makes and ends connections on it.
void refuse_one_thread() {
  const char* const single = std::getenv("MLX5_SINGLE_THREADED");
  if (single != nullptr && std::string_view(single) == "1")
    throw SetupError(SetupCause::kSystem,
                     "MLX5_SINGLE_THREADED=1 is in the environment, and this program has several "
                     "threads: unset it");
}

}  // namespace

VerbsCore::VerbsCore(const DeviceOptions& options)
    : options_(options),
      chosen_(choose_device(options.device)),
      work_(io_.get_executor()),
      sweep_(io_),
      kick_(io_),
      async_(io_),
      cm_(io_) {
  refuse_one_thread();
  if (::ibv_query_device(context(), &limits_) != 0) {
    throw_errno(SetupCause::kNoDevice, chosen_.name + " does not answer");
  }
  domain_.reset(::ibv_alloc_pd(context()));
  if (domain_ == nullptr) throw_errno(SetupCause::kNoMemory, "no protection domain");
  channel_.reset(::rdma_create_event_channel());
  if (channel_ == nullptr) {
    const char* const reason = std::strerror(errno);
    const char* const file = "/dev/infiniband/rdma_cm";
    if (is_forbidden(file)) {
      throw SetupError(SetupCause::kPermission, std::string("no rdma_cm: give this user read and "
                                                            "write on ") +
                                                    file + " (a udev rule)");
    }
    throw SetupError(SetupCause::kNoDevice,
                     std::string("no rdma_cm (`modprobe rdma_ucm`): ") + reason);
  }
  try {
    if (options_.security.role.empty()) options_.security.role = "tool";
    security_ = net::SecureContext::load(options_.security);
  } catch (const net::SecureError& error) {
    throw SetupError(SetupCause::kPermission, error.what());
  }
  binds_windows_ = !iwarp() && probe_windows(chosen_, limits_, domain());
  if (!binds_windows_) do_without_windows();
  resizes_queues_ = probe_resize(context());
  if (limits_.atomic_cap == IBV_ATOMIC_NONE) {
    note_once("atomics", chosen_.name +
                             " has no remote atomics: FETCH_ADD and COMPARE_SWAP are refused, and "
                             "regions are granted without that right");
  }
  if (iwarp()) note_iwarp();
  const std::uint32_t inline_bytes =
      iwarp() ? kIwarpInlineBytes : probe_inline(context(), domain());
  const std::uint32_t receive_depth =
      iwarp() ? iwarp_depth_max(limits_) : receive_depth_max(limits_);
  info_ = {.provider = "verbs",
           .name = chosen_.name,
           .attributes = describe_device(chosen_, options, limits_, inline_bytes, binds_windows_),
           .inline_bytes_max = inline_bytes,
           .queue_depth_max = iwarp() ? receive_depth
                                      : probe_send_depth(context(), domain(), receive_depth,
                                                         std::min(inline_bytes, kUsualInlineBytes)),
           .receive_depth_max = receive_depth,
           .message_bytes_max = 0,
           .revokes = true,
           .reads_by_copy = false,
           .progress = Progress::kDevice,
           // RFC 5040 promises nothing before a message is delivered. Soft-iWARP places bytes in
           // the order in which TCP has them, front to back; of iWARP adapters nothing is known.
           .places_last_word = !iwarp() || limits_.vendor_id == kSoftIwarp,
           .atomics = atomic_reach(limits_),
           .binds_keys = binds_windows_,
           // One packet each; iWARP has neither.
           .datagram_bytes_max = chosen_.context->device->transport_type == IBV_TRANSPORT_IB
                                     ? 128u << chosen_.port_attributes.active_mtu
                                     : 0,
           .multicast = limits_.max_mcast_grp > 0 && chosen_.address.ss_family != 0,
           .tells_refused = !iwarp(),
           .solicits = !iwarp()};
  kick_.assign(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  async_.assign(watched(context()->async_fd));
  cm_.assign(watched(channel_->fd));
  wait_for_kick();
  wait_for_sweep();
  wait_for_async_event();
  wait_for_cm_event();
  thread_.start(io_, "verbs-events");
}

void VerbsCore::note_iwarp() {
  const bool soft = limits_.vendor_id == kSoftIwarp;
  note_once("iwarp", chosen_.name +
                         " is an iWARP device: timeout, retry_cnt and traffic_class of [fabric] "
                         "have no effect, TCP repeats what is lost; that a host is gone is noticed "
                         "by heartbeats and by the set-up connection's probes");
  if (soft) {
    // Such a device sends by a socket from within the post. The kernel signals whoever posts to a
    // peer that has just gone (SIGPIPE), and a process that does not handle this ends without a
    // word.
    struct sigaction now {};
    if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      std::signal(SIGPIPE, SIG_IGN);
    note_once("siw", chosen_.name +
                         " is Soft-iWARP, for tests: it does not check the right to READ, so a "
                         "peer that does not play by the rules can READ all that this program has "
                         "registered; and a word of eight bytes can be seen half written where a "
                         "TCP segment ends (its lower half first)");
  } else {
    note_once("sink", chosen_.name +
                          " wants memory into which READs come to be writable for peers: one that "
                          "does not play by the rules can write there");
  }
}

int VerbsCore::read_sink_access() const noexcept {
  return iwarp() && limits_.vendor_id != kSoftIwarp ? int{IBV_ACCESS_REMOTE_WRITE} : 0;
}

VerbsCore::~VerbsCore() {
  post([this] {
    closing_ = true;
    for (auto* const each : {&kick_, &async_, &cm_}) each->cancel();
    sweep_.cancel();
  });
  work_.reset();
  thread_.run_out();
}

void VerbsCore::do_without_windows() {
  binds_windows_ = info_.binds_keys = false;
  note_once("windows", chosen_.name +
                           " binds no memory windows of type 2: a key that leaks works on any "
                           "connection of this device, not on its owner's only");
}

std::string VerbsCore::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void VerbsCore::kick() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(kick_.native_handle(), &one, sizeof(one));
}

void VerbsCore::wait_for_kick() {
  kick_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error || closing_) return;
                     std::uint64_t count = 0;
                     [[maybe_unused]] const ssize_t got =
                         ::read(kick_.native_handle(), &count, sizeof(count));
                     sweep();
                     wait_for_kick();
                   });
}

void VerbsCore::wait_for_sweep() {
  sweep_.expires_after(kSweepEvery);
  sweep_.async_wait([this](const boost::system::error_code& error) {
    if (error || closing_) return;
    sweep();
    wait_for_sweep();
  });
}

void VerbsCore::sweep() noexcept {
  for (const auto& connection : connections()) {
    if (connection->failed()) {
      connection->finish_failure();
    } else {
      connection->look_for_end();
    }
  }
  for (const auto& each : datagrams()) each->finish();
}

void VerbsCore::watch_datagrams(const std::shared_ptr<DatagramFate>& datagrams) {
  const std::lock_guard lock(mutex_);
  std::erase_if(datagrams_, [](const auto& each) { return each.expired(); });
  datagrams_.push_back(datagrams);
}

std::vector<std::shared_ptr<DatagramFate>> VerbsCore::datagrams() const {
  std::vector<std::shared_ptr<DatagramFate>> live;
  const std::lock_guard lock(mutex_);
  for (const auto& weak : datagrams_) {
    if (auto fate = weak.lock()) live.push_back(std::move(fate));
  }
  return live;
}

// ----------------------------------------------------------------------------- async events

void VerbsCore::wait_for_async_event() {
  async_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (error || closing_) return;
                      ibv_async_event event{};
                      errno = 0;
                      while (::ibv_get_async_event(context(), &event) == 0) {
                        on_async_event(event);
                        ::ibv_ack_async_event(&event);
                      }
                      if (errno != EAGAIN && errno != EINTR) {  // the descriptor is dead
                        fail_all("the RDMA device " + chosen_.name + " is gone", true);
                        return;
                      }
                      wait_for_async_event();
                    });
}

void VerbsCore::on_async_event(const ibv_async_event& event) noexcept {
  const std::string what = chosen_.name + ": " + ::ibv_event_type_str(event.event_type);
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      for (const auto& each : connections()) {
        if (each->uses(event.element.qp)) each->fail_event(event.event_type);
      }
      for (const auto& each : datagrams()) {
        if (each->uses(event.element.qp)) each->fail(what, false);
      }
      return;
    case IBV_EVENT_CQ_ERR:
      for (const auto& each : connections()) {
        if (each->uses(event.element.cq)) each->fail_device(what);
      }
      for (const auto& each : datagrams()) {
        if (!each->uses(event.element.cq)) continue;
        set_flush_in_software();
        each->fail(what, true);
      }
      note_once("cq", what);
      return;
    case IBV_EVENT_DEVICE_FATAL:
      fail_all("the RDMA device " + what + " (removed or reset)", true);
      return;
    case IBV_EVENT_PORT_ERR:
      // The retries would find out later: whoever waits for an answer is told now.
      if (event.element.port_num == chosen_.port) {
        fail_all(
            what + ": port " + std::to_string(chosen_.port) + " is down (cable, switch, `ip link`)",
            false);
      }
      return;
    case IBV_EVENT_GID_CHANGE:
      // Memberships look at it (VerbsMembership::poll()); every connection is resolved anew.
      if (event.element.port_num == chosen_.port)
        gid_changes_.fetch_add(1, std::memory_order_relaxed);  // see gid_changes()
      return;
    default:
      // Communication established, last WQE reached, LID and P_Key changes, port up again: nothing
      // depends on them, as every connection is resolved anew.
      return;
  }
}

void VerbsCore::fail_all(const std::string& why, bool gone) noexcept {
  note_once(why, why);
  if (gone) {
    const std::lock_guard lock(mutex_);
    if (lost_.empty()) lost_ = why;
  }
  for (const auto& each : connections()) {
    if (gone) {
      each->fail_device(why);
    } else {
      each->fail_with(VerbsCause::kOther, why);
    }
  }
  // Datagrams to a port that is down are lost, as others are; its queue pairs go on with it.
  if (!gone) return;
  set_flush_in_software();
  for (const auto& each : datagrams()) each->fail(why, true);
}

// ---------------------------------------------------------------------------------- rdma_cm

void VerbsCore::wait_for_cm_event() {
  cm_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                 [this](const boost::system::error_code& error) {
                   if (error || closing_) return;
                   rdma_cm_event* event = nullptr;
                   while (::rdma_get_cm_event(channel_.get(), &event) == 0) on_cm_event(*event);
                   wait_for_cm_event();
                 });
}

// Acknowledges the event first: an id with an unacknowledged event cannot be destroyed.
void VerbsCore::on_cm_event(const rdma_cm_event& event) noexcept {
  if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    on_cm_request(event);
    return;
  }
  auto* connection = static_cast<VerbsConnection*>(event.id->context);
  const rdma_cm_event_type type = event.event;
  const int status = event.status;
  ::rdma_ack_cm_event(const_cast<rdma_cm_event*>(&event));
  if (type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    fail_all("the RDMA device " + chosen_.name + " was removed", true);
  } else if (connection != nullptr) {
    connection->on_cm_event(type, status);
  }
}

void VerbsCore::on_cm_request(const rdma_cm_event& event) noexcept {
  rdma_cm_id* id = event.id;
  id->context = nullptr;  // inherited from the listening id
  CmPrivateData data;
  bool valid = event.param.conn.private_data_len >= sizeof(data);
  if (valid) {
    std::memcpy(&data, event.param.conn.private_data, sizeof(data));
    valid = data.magic == kVerbsMagic && data.version == kVerbsVersion && same_device(id);
  }
  ::rdma_ack_cm_event(const_cast<rdma_cm_event*>(&event));
  const std::shared_ptr<VerbsConnection> connection = valid ? take_expected(data.token) : nullptr;
  if (connection != nullptr) {
    connection->on_cm_request(id);
    return;
  }
  note_once("stranger",
            "an RDMA connection request that belongs to no authenticated set-up was "
            "refused");
  ::rdma_reject(id, nullptr, 0);
  ::rdma_destroy_id(id);
}

bool VerbsCore::has_gid(std::uint32_t index) const noexcept {
  ibv_gid now{};
  return ::ibv_query_gid(context(), chosen_.port, static_cast<int>(index), &now) == 0 &&
         std::memcmp(now.raw, chosen_.raw_gid.raw, sizeof(now.raw)) == 0;
}

bool VerbsCore::same_device(const rdma_cm_id* id) const noexcept {
  return id->verbs != nullptr &&
         std::strcmp(::ibv_get_device_name(id->verbs->device), chosen_.name.c_str()) == 0;
}

VerbsCore::CmId VerbsCore::listen_cm(int family) {
  rdma_cm_id* raw = nullptr;
  if (::rdma_create_id(channel_.get(), &raw, nullptr, RDMA_PS_TCP) != 0) {
    throw_errno(SetupCause::kSystem, "rdma_create_id");
  }
  CmId id(raw);
  if (options_.verbs.traffic_class != 0) {
    auto tos = static_cast<std::uint8_t>(options_.verbs.traffic_class);
    ::rdma_set_option(raw, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
  }
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  if (::rdma_bind_addr(raw, reinterpret_cast<sockaddr*>(&any)) != 0 ||
      ::rdma_listen(raw, kCmBacklog) != 0) {
    const int error = errno;
    id.reset();
    errno = error;
    return nullptr;
  }
  return id;
}

std::uint16_t VerbsCore::cm_port(int family) {
  CmId& id = family == AF_INET6 ? listener6_ : listener4_;
  const std::lock_guard lock(mutex_);
  // rdma_cm chooses a port of its own space. Over iWARP it is one of TCP's as well, where somebody
  // else may have it.
  for (int tries = 0; id == nullptr && tries < kPortTries; ++tries) id = listen_cm(family);
  if (id == nullptr) throw_errno(SetupCause::kAddress, "rdma_cm cannot listen");
  return ntohs(::rdma_get_src_port(id.get()));
}

}  // namespace tickpath::rdma::detail
