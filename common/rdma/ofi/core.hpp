// What all objects of one ofi device share: libfabric's fabric, domain and event queue, the
// background thread of the set-up streams, and the thread that makes progress where nobody polls.
// The core lives until the last of them is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/net/secure_stream.hpp"
#include "common/rdma/ofi/choice.hpp"
#include "common/rdma/ofi/progress.hpp"
#include "common/rdma/ofi/setup.hpp"
#include "common/rdma/ofi/wire.hpp"
#include "common/rdma/provider/background_thread.hpp"
#include "common/rdma/provider/region_table.hpp"
#include "common/rdma/rdma.hpp"
#include "common/rdma/setup/connection_registry.hpp"

namespace tickpath::rdma::detail {

class OfiConnection;

class OfiCore : public DeviceNotes, public ConnectionRegistry<OfiConnection> {
 public:
  explicit OfiCore(const DeviceOptions& options);  // throws SetupError
  ~OfiCore();
  OfiCore(const OfiCore&) = delete;
  OfiCore& operator=(const OfiCore&) = delete;

  fid_fabric* fabric() const noexcept { return fabric_.get(); }
  fid_domain* domain() const noexcept { return domain_.get(); }
  fid_eq* events() const noexcept { return events_.get(); }
  const fi_info& core_info() const noexcept { return *choice_.info; }
  const std::string& core_name() const noexcept { return choice_.core; }
  std::uint32_t core_id() const noexcept;  // of its name, for the hello
  // FI_MR_LOCAL: what libfabric sends from and receives into is registered.
  bool local_registration() const noexcept {
    return (choice_.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  }
  // Which bits of a header_word reach the peer; 0: none, each message has its header.
  std::uint64_t header_word_bits() const noexcept {
    const std::size_t bytes = choice_.info->domain_attr->cq_data_size;
    if (bytes >= sizeof(std::uint64_t)) return header_word::kWhole;
    return bytes >= sizeof(std::uint32_t) && connected() ? header_word::kWithoutSession : 0;
  }
  // As OfiChoice.
  bool connected() const noexcept { return choice_.connected; }
  // The end of a connection is told once everything before it has come. rdma_cm's messages, which
  // tell it for verbs, overtake the data.
  bool ends_behind_data() const noexcept { return !choice_.core.starts_with("verbs"); }
  const DeviceInfo& info() const noexcept { return info_; }
  const std::shared_ptr<const net::SecureContext>& security() const noexcept { return security_; }
  OfiProgress& progress() noexcept { return progress_; }
  std::uint32_t next_number() noexcept {
    return numbers_.fetch_add(1, std::memory_order_relaxed) + 1;  // a name, orders nothing
  }
  // Local keys: the control thread changes them, the datapath asks.
  RegionTable& regions() noexcept { return regions_; }

  // A connection failed, or waits for something: the background thread looks at all of them within
  // kOfiPolledTickMs. One word of memory: polling threads call it.
  void ask_for_sweep() noexcept { sweep_asked_.store(true, std::memory_order_release); }

  // A message came of who is not the peer, to an endpoint that anybody may send to. Likewise.
  void note_stranger() noexcept {
    stranger_came_.store(true, std::memory_order_relaxed);  // ask_for_sweep() orders it
    ask_for_sweep();
  }

  void sweep_now();  // background thread

  // The background thread.
  boost::asio::io_context& io() noexcept { return io_; }
  template <class Function>
  void post(Function&& function) {
    boost::asio::post(io_, std::forward<Function>(function));
  }

  // Set-up threads and the background thread. Takes what libfabric has to tell of connections; the
  // core providers of sockets also move set-up along in it. Never blocks for long.
  void take_events() noexcept;
  // Closes an endpoint that was shut down, so that no event of it is looked at later: its address
  // may be that of another one by then. `unbind` makes its connection forget it first.
  template <class Unbind>
  void close_endpoint(Fid<fid_ep>& endpoint, Unbind&& unbind) noexcept {
    const std::lock_guard lock(event_mutex_);
    take_events_locked();
    unbind();
    endpoint.reset();
  }

  // Control and set-up threads. Where peers connect to: a passive endpoint, made at first use.
  // Throws SetupError.
  std::uint16_t data_port(int family);
  const sockaddr_storage& own_address() const noexcept { return choice_.address; }

 private:
  struct Passive {
    Fid<fid_pep> endpoint;
    std::uint16_t port = 0;
  };

  void open();
  void describe(const DeviceOptions& options);
  void wait_for_sweep();
  bool sweep() noexcept;  // false: again soon
  void take_events_locked() noexcept;
  void on_event(std::uint32_t event, const fi_eq_cm_entry& entry, std::size_t data_bytes) noexcept;
  void on_event_error() noexcept;
  void on_request(const fi_eq_cm_entry& entry, std::size_t data_bytes) noexcept;
  Passive listen(int family);

  DeviceOptions options_;
  OfiChoice choice_;
  DeviceInfo info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_eq> events_;
  Fid<fid_domain> domain_;
  std::shared_ptr<const net::SecureContext> security_;
  RegionTable regions_;
  std::atomic<std::uint32_t> numbers_{0};

  std::mutex mutex_;  // set-up only; never the datapath
  Passive passive4_, passive6_;
  std::mutex event_mutex_;

  std::atomic<bool> sweep_asked_{false};
  std::atomic<bool> stranger_came_{false};
  OfiProgress progress_{[this] {
    // Acquire: pairs with ask_for_sweep(); whoever asked has written why.
    if (sweep_asked_.load(std::memory_order_relaxed) &&
        sweep_asked_.exchange(false, std::memory_order_acquire))
      post([this] { sweep_now(); });
  }};
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer sweep_;
  bool closing_ = false;  // background thread: nothing is looked after any more
  BackgroundThread thread_;
};

}  // namespace tickpath::rdma::detail
