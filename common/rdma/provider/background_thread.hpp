// The one thread that runs a device's io_context, and ends when all is said.
#pragma once

#include <chrono>
#include <future>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "common/base/cpu.hpp"

namespace tickpath::rdma::detail {

class BackgroundThread {
 public:
  // For goodbyes that peers do not take: one that is stopped must not keep us.
  static constexpr std::chrono::milliseconds kGoodbyePatience{100};

  void start(boost::asio::io_context& io, const char* name) {
    io_ = &io;
    thread_ = std::thread([this, name] {
      name_this_thread(name);
      io_->run();
      ended_.set_value();
    });
  }
  // Nothing keeps the io_context busy but what is still to be said: waits for that, and ends what
  // takes too long.
  void run_out() {
    if (!thread_.joinable()) return;
    if (ended_.get_future().wait_for(kGoodbyePatience) != std::future_status::ready) io_->stop();
    thread_.join();
  }

 private:
  boost::asio::io_context* io_ = nullptr;
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace tickpath::rdma::detail
