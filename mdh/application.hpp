// mdh as a program: what its control thread does.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/control/admission.hpp"
#include "common/control/program.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/values/value_owner.hpp"
#include "common/wire/hello.hpp"
#include "mdh/book_home.hpp"
#include "mdh/datapath.hpp"
#include "mdh/symbol_file.hpp"

namespace tickpath::mdh {

class MdhApplication final : public control::Application {
 public:
  // Throws Error: memory, device, endpoint, multicast group.
  MdhApplication(const MdhConfig& config, control::Runtime& runtime);

  control::Datapath& datapath() override { return *datapath_; }
  void on_start() override;
  void on_tick() override;
  std::string not_ready_reason() override { return home_.not_ready_reason(); }
  void describe(control::Json& status) override;
  void begin_stop() override { datapath_->close(); }
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  void register_counters();
  control::Json crossed_books() const;
  void register_lines(control::Counters& out);
  void accept(rdma::ConnectionRequest& request);
  void accept_subscriber(rdma::ConnectionRequest& request, const wire::Hello& hello);
  bool has_place_for_strategy();
  link::Accepted strategy_accepted(link::Accepted then);
  void accept_reader(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_price_reader(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_values(rdma::ConnectionRequest& request, const wire::Hello& hello);
  link::Accepted accepted(const rdma::ConnectionRequest& request, const wire::Hello& hello);
  void tell_departed();
  void tell_multicast_lost();
  void remember_symbols();
  void keep_symbols();
  bool collect_symbols();
  wire::Hello answer(wire::Service service) const;

  const MdhConfig& config_;
  control::Runtime& runtime_;
  SymbolFile symbol_file_;
  std::vector<KnownSymbol> symbols_;      // by id: what the file says, or is to say
  std::vector<std::uint32_t> listed_in_;  // by id, of the row that was looked at last
  std::uint64_t listings_seen_ = 0;
  bool look_again_ = false;
  bool symbols_unsaved_ = false;
  bool symbol_file_failed_ = false;
  std::unique_ptr<rdma::CompletionChannel> channel_;
  std::unique_ptr<BookPublisher> publisher_;
  std::unique_ptr<DirectoryTable> directory_;
  BookHome home_;
  std::unique_ptr<prices::PriceStore> store_;   // nullptr: it is not enabled
  std::unique_ptr<values::ValueOwner> values_;  // nullptr: none are kept
  std::unique_ptr<MdhDatapath> datapath_;
  std::unique_ptr<rdma::Listener> listener_;
  control::Subscription watch_;
  link::TableReaders readers_;
  std::set<std::uint32_t> strategies_;  // subscribers' ids
  std::uint32_t strategies_setting_up_ = 0;
  std::size_t departures_told_ = 0;
  bool multicast_lost_ = false;
  control::Admission admission_{wire::Role::kMdh};
};

}  // namespace tickpath::mdh
