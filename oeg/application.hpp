// oeg's control side: who connects, what is reported, how it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/log_budget.hpp"
#include "common/control/admission.hpp"
#include "common/control/kill_keeper.hpp"
#include "common/control/program.hpp"
#include "common/link/connection.hpp"
#include "oeg/config.hpp"
#include "oeg/datapath.hpp"
#include "oeg/exceptions.hpp"
#include "oeg/pair_keeper.hpp"
#include "oeg/venue_connector.hpp"

namespace tickpath::oeg {

class OegApplication final : public control::Application {
 public:
  // Throws Error, rdma::SetupError.
  OegApplication(const OegConfig& config, control::Runtime& runtime);
  ~OegApplication() override;

  control::Datapath& datapath() override { return *datapath_; }
  void on_start() override;
  void on_tick() override;
  std::string not_ready_reason() override;
  void describe(control::Json& status) override;
  void begin_stop() override;
  bool drained(std::string& why) override;
  void on_stopped() override;
  void summarize(control::Summary& summary) override;

 private:
  void define_notes();
  void connect_venue();
  void register_counters();
  void tell_recovery();
  void tell_trouble();
  control::Json describe_kills() const;
  control::Json open_rows(std::uint8_t strategy) const;
  control::Json list_positions(const control::Json& request) const;
  void accept(rdma::ConnectionRequest& request);
  void accept_strategy(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void accept_risk(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void keep_out(rdma::ConnectionRequest& request, const std::string& name,
                const std::string& holder);
  void accept_reader(rdma::ConnectionRequest& request, const wire::Hello& hello);
  void tell_accepted(const std::string& who, const std::string& peer,
                     const rdma::SetupError* error);
  void register_rights();
  control::Json revoke(const control::Json& request);
  control::Json switch_over();
  control::Json restore(const control::Json& request);
  std::string revoked_path() const;  // of the file that keeps it over restarts
  void register_exceptions();
  void hold_symbols();
  void complete_takeover();
  void follow_cleared();
  void take_exceptions();
  void take_venue_texts();
  void list(const ExceptionNote& note);
  void list_journaled(std::uint64_t up_to);
  void tell_cleared();
  control::Json list_exceptions(const control::Json& request) const;
  control::Json clear_exceptions(const control::Json& request);
  void clear_exception(std::uint64_t id, const std::string& by);
  control::Json book_exception(const control::Json& request);
  control::Json adjust_position(const control::Json& request);
  void book_by_hand(const ManualTrade& trade, std::uint64_t exception, const std::string& by);
  void maintain_market();
  void maintain_journal();
  std::string symbol(std::uint32_t instrument) const;

  const OegConfig& config_;
  control::Runtime& runtime_;
  std::unique_ptr<PairKeeper> pair_;             // nullptr: alone by configuration
  ExceptionList exceptions_;                     // behind it: who joins gets the leader's
  std::uint64_t exceptions_followed_ = 0;        // of the journal, at the last tick
  std::vector<ClearedException> cleared_;        // the datapath is to be told
  std::vector<ClearedException> cleared_there_;  // at the leader, and not here yet
  // A venue that makes the session speak must not fill the disk.
  LogBudget fix_lines_{200, std::chrono::seconds(10)};
  VenueTexts venue_texts_;
  LogBudget venue_lines_{50, std::chrono::seconds(10)};  // likewise, of refusals
  std::unique_ptr<OegDatapath> datapath_;
  std::unique_ptr<control::KillKeeper> kills_;
  std::unique_ptr<rdma::Listener> listener_;
  std::unique_ptr<VenueConnector> venue_;
  control::Subscription listener_watch_;
  control::Admission admission_{wire::Role::kOeg};
  std::uint64_t rights_revoked_ = 0;
  std::string kept_out_;         // the risk that stands by, as the log was told
  std::string journal_problem_;  // the last one logged
  link::TableReaders readers_;
};

}  // namespace tickpath::oeg
