// What all objects of one verbs device share: context, protection domain, the one background thread
// and the rdma_cm channel. It lives until the last of them is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "common/net/secure_stream.hpp"
#include "common/rdma/provider/background_thread.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/setup/connection_registry.hpp"
#include "common/rdma/verbs/choice.hpp"
#include "common/rdma/verbs/setup.hpp"

namespace tickpath::rdma::detail {

class VerbsConnection;
class DatagramFate;

class VerbsCore : public DeviceNotes, public ConnectionRegistry<VerbsConnection> {
 public:
  explicit VerbsCore(const DeviceOptions& options);  // throws SetupError
  ~VerbsCore();
  VerbsCore(const VerbsCore&) = delete;
  VerbsCore& operator=(const VerbsCore&) = delete;

  ibv_context* context() const noexcept { return chosen_.context.get(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  const ChosenDevice& chosen() const noexcept { return chosen_; }
  const ibv_device_attr& limits() const noexcept { return limits_; }
  const DeviceOptions& options() const noexcept { return options_; }
  const DeviceInfo& info() const noexcept { return info_; }
  const std::shared_ptr<const net::SecureContext>& security() const noexcept { return security_; }
  // Its queue pairs are rdma_cm's to move, and speak over TCP (iwarp_queues.hpp).
  bool iwarp() const noexcept {
    return chosen_.context->device->transport_type == IBV_TRANSPORT_IWARP;
  }
  // ibv_access_flags that memory needs for READs to land in it. iWARP's answers are WRITEs to the
  // asking side, and adapters want that right (RFC 5040, 5.1; kernel: rdma_rw's registrations);
  // Soft-iWARP does not, and so gives nobody a key by which this memory can be written.
  int read_sink_access() const noexcept;
  // Grants are memory windows of type 2, which the device lets one queue pair use only. Where it
  // has none they are registrations, whose keys work on any connection of this device.
  bool binds_windows() const noexcept { return binds_windows_; }
  bool resizes_queues() const noexcept { return resizes_queues_; }
  // Also for tests on a device that has them: before anything is allocated.
  void do_without_windows();
  // Some connection's completions will never come from the device.
  bool flush_in_software() const noexcept {
    return flush_in_software_.load(std::memory_order_acquire);
  }
  void set_flush_in_software() noexcept {
    flush_in_software_.store(true, std::memory_order_release);  // pairs with the load above
  }

  // Why the device is gone; empty while it is there. Any thread.
  std::string lost() const;

  // The background thread.
  boost::asio::io_context& io() noexcept { return io_; }
  template <class Function>
  void post(Function&& function) {
    boost::asio::post(io_, std::forward<Function>(function));
  }
  // Some connection failed: the background thread tells its peer. Any thread; a system call.
  void kick() noexcept;

  // How often the GIDs of our port have changed: an address was set or removed. Any thread.
  std::uint64_t gid_changes() const noexcept {
    return gid_changes_.load(std::memory_order_relaxed);  // a hint to look; it orders nothing
  }
  // Ours is still at that place of the port's table. Control thread.
  bool has_gid(std::uint32_t index) const noexcept;

  // Control thread.
  void watch_datagrams(const std::shared_ptr<DatagramFate>& datagrams);

  // Port of rdma_cm's listener, which is made at first use. AF_INET or AF_INET6. Throws SetupError.
  std::uint16_t cm_port(int family);
  rdma_event_channel* cm_channel() const noexcept { return channel_.get(); }
  bool same_device(const rdma_cm_id* id) const noexcept;
  // An address of the device's own, for peers that came over the loopback interface.
  const sockaddr_storage& own_address() const noexcept { return chosen_.address; }

 private:
  struct CmIdDelete {
    void operator()(rdma_cm_id* id) const noexcept { ::rdma_destroy_id(id); }
  };
  using CmId = std::unique_ptr<rdma_cm_id, CmIdDelete>;

  void note_iwarp();
  void wait_for_kick();
  void wait_for_sweep();
  void wait_for_async_event();
  void wait_for_cm_event();
  void sweep() noexcept;
  void on_async_event(const ibv_async_event& event) noexcept;
  void on_cm_event(const rdma_cm_event& event) noexcept;
  void on_cm_request(const rdma_cm_event& event) noexcept;
  void fail_all(const std::string& why, bool gone) noexcept;
  std::vector<std::shared_ptr<DatagramFate>> datagrams() const;
  CmId listen_cm(int family);  // null, and errno: it could not

  DeviceOptions options_;
  ChosenDevice chosen_;
  ibv_device_attr limits_{};
  bool binds_windows_ = false;
  bool resizes_queues_ = false;
  DeviceInfo info_;
  std::unique_ptr<ibv_pd, int (*)(ibv_pd*)> domain_{nullptr, &::ibv_dealloc_pd};
  std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)> channel_{
      nullptr, &::rdma_destroy_event_channel};
  std::shared_ptr<const net::SecureContext> security_;
  std::atomic<bool> flush_in_software_{false};
  std::atomic<std::uint64_t> gid_changes_{0};

  mutable std::mutex mutex_;  // set-up and failures only; never the datapath
  std::string lost_;
  std::vector<std::weak_ptr<DatagramFate>> datagrams_;
  CmId listener4_, listener6_;

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer sweep_;
  boost::asio::posix::stream_descriptor kick_;
  boost::asio::posix::stream_descriptor async_;
  boost::asio::posix::stream_descriptor cm_;
  bool closing_ = false;  // background thread: nothing is waited for any more
  BackgroundThread thread_;
};

}  // namespace tickpath::rdma::detail
