// Reads a price store by READ alone: the newest prices of one instrument or of many, and ranges of
// its trades, quotes and bars. DESIGN.md says why what it hands out is whole.
//
//   PriceClient client(device, "prices");                       // control thread
//   client.attach(connection, connection.extras()[wire::PricesGrants::kStore]);
//   client.start_latest(symbols, answers);                      // the connection's polling thread
//   connection.poll(); client.poll() ...                        // each turn, until it is not
//   kPending
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/counter.hpp"
#include "common/base/id_map.hpp"
#include "common/link/detail/one_sided.hpp"
#include "common/rdma/rdma.hpp"
#include "common/stores/prices/history_ring.hpp"
#include "common/wire/prices.hpp"

namespace tickpath::prices {

enum class PriceStatus : std::uint8_t {
  kOk,
  kPending,        // not there yet: poll the connection, then the client
  kUnknownSymbol,  // the store has no such instrument
  kNothingYet,     // it has, but there was no trade or quote of it today
  kTorn,           // the writer was at work at every attempt
  kFailed,         // not attached, or the connection has failed
  kNoStore,        // what is granted is no price store of this version
};
std::string_view to_string(PriceStatus status) noexcept;

struct LatestAnswer {
  PriceStatus status = PriceStatus::kPending;
  wire::LatestPrices prices{};  // of kOk
};

// Entries with from_ns <= time < to_ns, of those the newest.
struct RangeRequest {
  wire::HistoryKind kind = wire::HistoryKind::kTrades;
  std::uint64_t from_ns = 0;  // since midnight, exchange's time
  std::uint64_t to_ns = ~std::uint64_t{0};
  std::uint64_t last_ns =
      0;                     // not 0: from so long before the exchange's clock on, if that is later
  std::uint64_t newest = 0;  // not more than so many of the newest entries; 0: all
  friend bool operator==(const RangeRequest&, const RangeRequest&) = default;
};

struct RangeAnswer {
  PriceStatus status = PriceStatus::kPending;
  std::uint64_t first = 0;  // index of entries[0]: counts from mdh's start
  std::size_t count = 0;    // entries that were stored
  // Entries of the range were overwritten before they could be read: what is there begins later.
  bool overwritten = false;
  bool more = false;           // there was no room for all: ask again from the last one's time on
  std::uint64_t clock_ns = 0;  // the exchange's, as mdh last showed it
  std::uint32_t day = 0;
  // Bars only: the one that may still grow, where it is in the range; trades == 0: none. It is
  // final once clock_ns has passed its end, although no later trade has put it into the ring.
  wire::PriceBar current{};
  bool current_final = false;
};

struct PriceClientOptions {
  std::uint32_t reads_in_flight = 16;  // instruments asked for at a time
  std::uint32_t symbols_max = 65'536;  // rows that are remembered
};

// The connection's polling thread, but for construction. One request at a time.
class PriceClient final : public link::OneSidedClient {
 public:
  static constexpr std::uint32_t kAttemptsMax = 64;
  // Lines that one doorbell fetches, 64 KiB.
  static constexpr std::uint64_t kLinesAtOnce = 1'024;

  // Control thread. Throws rdma::SetupError.
  PriceClient(rdma::Device& device, const std::string& name, PriceClientOptions options = {});

  // After each LinkEvent::kConnected. What was known of a store before is forgotten: rows of one
  // run mean nothing in the next.
  void attach(link::Connection& connection, const rdma::RemoteRegion& region) noexcept;
  void detach() noexcept;

  // Begins a request; false: not attached, or one is under way. Symbols are symbol_word()s; out has
  // room for as many answers. Both stay until the request ends.
  bool start_latest(std::span<const std::uint64_t> symbols, std::span<LatestAnswer> out) noexcept;
  bool start_range(std::uint64_t symbol, const RangeRequest& request,
                   std::span<wire::HistoryLine> out) noexcept;
  // The store's own words: clock, day and state of the feed, as of the end of the request in
  // info().
  bool start_info() noexcept;
  // After polling the connection. Anything but kPending ends the request: kOk, or for a range what
  // it came to; each answer of start_latest() has a status of its own.
  PriceStatus poll() noexcept;
  const RangeAnswer& range_answer() const noexcept { return range_.answer; }
  const wire::StoreInfo& info() const noexcept { return store_; }
  bool busy() const noexcept { return task_ != Task::kNone; }
  // Ends a request without an answer.
  void abandon() noexcept;

  // Control threads and tools, on a connection of their own: start, poll, end. kPending: time-out.
  PriceStatus read_info(std::uint32_t timeout_ms = 1000) noexcept;
  PriceStatus get(std::string_view symbol, wire::LatestPrices& out,
                  std::uint32_t timeout_ms = 1000) noexcept;
  PriceStatus latest_many(std::span<const std::uint64_t> symbols, std::span<LatestAnswer> out,
                          std::uint32_t timeout_ms = 1000) noexcept;
  // All of the range, whatever its length.
  RangeAnswer range(std::string_view symbol, const RangeRequest& request,
                    std::vector<wire::HistoryLine>& out, std::uint32_t timeout_ms = 1000);

  std::uint64_t torn_reads() const noexcept { return torn_.get(); }  // any thread

 private:
  enum class Task : std::uint8_t { kNone, kInfo, kLatest, kRange };
  enum class Stage : std::uint8_t { kFree, kInfo, kIndex, kRow, kProbe, kLines };

  // What one doorbell fills, in registered memory.
  struct alignas(64) Landing {
    wire::RingHead before;
    wire::RingHead after;
    std::array<wire::SymbolSlot, wire::kSlotsPerIndexLine> slots;
    wire::StoreInfo info;
    wire::PriceRow row;
  };
  struct Slot {  // of a request under way
    Stage stage = Stage::kFree;
    bool waits = false;  // for room in the send queue
    std::uint32_t item = 0;
    std::uint32_t row = 0;
    std::uint32_t attempts = 0;
    std::uint64_t index_line = 0;
    std::uint64_t lines_seen = 0;
  };
  struct Range {
    std::uint64_t symbol = 0;
    RangeRequest request;
    std::span<wire::HistoryLine> out;
    RangeAnswer answer;
    std::uint64_t location = 0;
    std::uint64_t begin = 0;  // entries [begin, end) are left to be read
    std::uint64_t end = 0;
    // While its begin is searched: entries before `begin` are too early, those from here on are
    // not. While its end is: those before `early` are before to_ns, those from here on are not.
    std::uint64_t late = 0;
    std::uint64_t early = 0;
    std::uint64_t asked = 0;  // those of the doorbell at hand
    std::uint64_t asked_end = 0;
    std::uint64_t day_first = 0;
    bool earlier_seen = false;  // an entry before the range: so nothing of the range is lost
    bool end_found = false;
    bool searched = false;
  };

  void on_answer(bool success) noexcept override;

  void free_all() noexcept;
  Landing& landing(std::uint32_t slot) noexcept;
  wire::HistoryLine* lines() noexcept;
  std::uint64_t row_offset(std::uint32_t slot) const noexcept;
  std::uint64_t head_offset(std::uint32_t slot) const noexcept;
  rdma::WorkRequest fetch(std::uint64_t offset, std::size_t bytes, void* to) noexcept;
  void ask(std::uint32_t slot, Stage stage) noexcept;
  rdma::PostStatus post_requests(std::uint32_t slot) noexcept;
  rdma::PostStatus post_row(std::uint32_t slot) noexcept;
  void post_waiting() noexcept;
  std::size_t make_requests(std::uint32_t slot, std::span<rdma::WorkRequest> out) noexcept;
  std::size_t make_row_requests(std::uint32_t slot, std::span<rdma::WorkRequest> out) noexcept;
  std::size_t make_line_requests(std::uint32_t slot, std::span<rdma::WorkRequest> out) noexcept;

  void on_landed(std::uint32_t slot) noexcept;
  void on_info() noexcept;
  bool is_store(const wire::StoreInfo& info) const noexcept;
  void look_up(std::uint32_t slot, std::uint64_t symbol) noexcept;
  void on_index(std::uint32_t slot) noexcept;
  void on_row(std::uint32_t slot) noexcept;
  bool try_again(std::uint32_t slot) noexcept;
  void settle(std::uint32_t slot, PriceStatus status) noexcept;
  void fill_slots() noexcept;
  std::uint64_t symbol_of(std::uint32_t slot) const noexcept;
  PriceStatus end(PriceStatus status) noexcept;
  bool get_known(std::uint64_t symbol, LatestAnswer& out, PriceStatus& ended,
                 std::uint32_t timeout_ms) noexcept;
  template <class Pending>
  PriceStatus wait(Pending&& pending, std::uint32_t timeout_ms) noexcept;

  // ---- price_client_range.cpp
  void begin_range(const wire::PriceRow& row, const wire::RingHead& head,
                   const wire::StoreInfo& info) noexcept;
  void note_current(const wire::LatestPrices& latest) noexcept;
  void take_newest() noexcept;
  void go_on() noexcept;
  void probe(std::uint64_t from) noexcept;
  bool whole_of_doorbell(WholeEntries& whole) noexcept;
  void on_probe() noexcept;
  void on_lines() noexcept;
  bool take_lines(const WholeEntries& whole) noexcept;
  void end_range(PriceStatus status) noexcept;

  PriceClientOptions options_;
  rdma::RemoteRegion remote_;
  wire::StoreInfo store_{};  // as it was read last; magic 0: not yet
  IdMap rows_;               // by symbol
  std::vector<std::uint64_t> remembered_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;          // slots
  std::vector<std::uint32_t> posted_slots_;  // in a circle of a power of two, in order of doorbells
  std::uint64_t posted_count_ = 0;
  std::uint64_t landed_count_ = 0;
  std::uint64_t handled_count_ = 0;
  std::uint32_t in_use_ = 0;   // slots
  std::uint32_t waiting_ = 0;  // of them, for room in the send queue
  bool failed_ = false;
  Task task_ = Task::kNone;
  PriceStatus result_ = PriceStatus::kPending;
  std::span<const std::uint64_t> symbols_;
  std::span<LatestAnswer> answers_;
  std::size_t next_item_ = 0;
  Range range_;
  Counter torn_;
};

}  // namespace tickpath::prices
