// mdh as a program: what its control thread does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/control/program.hpp"
#include "common/rdma/rdma.hpp"
#include "common/wire/hello.hpp"
#include "mdh/datapath.hpp"

namespace tickpath::mdh {

class MdhApplication final : public control::Application {
 public:
  // Throws Error: memory, device, endpoint, multicast group.
  MdhApplication(const MdhConfig& config, control::Runtime& runtime);

  control::Datapath& datapath() override { return *datapath_; }
  void on_start() override;
  void on_tick() override;
  void describe(control::Json& status) override;
  void begin_stop() override { datapath_->close(); }
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  void register_counters();
  void accept_all();
  void accept(rdma::ConnectionRequest& request);
  void accept_subscriber(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_reader(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void drop_departed();
  wire::Hello answer() const;

  const MdhConfig& config_;
  control::Runtime& runtime_;
  std::unique_ptr<rdma::CompletionChannel> channel_;
  std::unique_ptr<BookPublisher> publisher_;
  std::unique_ptr<DirectoryTable> directory_;
  std::unique_ptr<MdhDatapath> datapath_;
  std::unique_ptr<rdma::Listener> listener_;
  control::Subscription watch_;
  struct Subscriber {
    std::string name;
    std::uint64_t join_sequence = 0;
  };
  void close_account(const Subscriber& subscriber);

  std::map<std::uint32_t, Subscriber> subscribers_;  // by the publisher's id
  std::vector<std::unique_ptr<link::Connection>> readers_;
  std::vector<control::RingFlow> flows_;  // of those that left, and at the end of those left
  std::uint64_t refused_connections_ = 0;
};

}  // namespace tickpath::mdh
