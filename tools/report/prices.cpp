#include "tools/report/prices.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/book/book.hpp"
#include "common/feeds/itch/codec.hpp"
#include "common/feeds/itch/trading_day.hpp"
#include "common/feeds/recordings/message_digest.hpp"
#include "common/feeds/recordings/recording.hpp"

namespace tickpath::report {
namespace {

constexpr double kUnitsInPrice = 1e4;  // Price(4)

// Room for what a recording of this size can have at a time.
book::Options book_options(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMost = 8u << 20;
  const std::uint64_t orders = std::clamp<std::uint64_t>(file_bytes / 4, 1u << 16, kMost);
  return {static_cast<std::uint32_t>(orders), static_cast<std::uint32_t>(orders / 2)};
}

// The books of a recording, and the middle of those that were asked for.
class Middles {
 public:
  Middles(std::uint8_t venue, const control::LongNames& names, const std::set<Listing>& listings,
          const Grid& grid, const book::Options& options)
      : venue_(venue),
        names_(names),
        wanted_(listings),
        grid_(grid),
        books_(options),
        rows_(book::kLocatesMax) {}

  void take(double market_s, std::span<const std::byte> bytes) {
    locate_ = bytes.size() >= itch::kHeaderBytes ? itch::stock_locate(bytes.data()) : 0;
    // The last point has the books as they end.
    while (next_ + 1 < grid_.points && grid_.at(next_) < market_s) note();
    (void)itch::decode(bytes, *this);
  }
  PricePaths finish() {
    while (next_ < grid_.points) note();
    return std::move(paths_);
  }

  void operator()(const itch::AddOrder& m) { add(m); }
  void operator()(const itch::AddOrderMpid& m) { add(m); }
  void operator()(const itch::OrderExecuted& m) {
    (void)books_.execute(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderExecutedWithPrice& m) {
    (void)books_.execute(m.order_reference_number, m.executed_shares);
  }
  void operator()(const itch::OrderCancel& m) {
    (void)books_.reduce(m.order_reference_number, m.cancelled_shares);
  }
  void operator()(const itch::OrderDelete& m) { (void)books_.remove(m.order_reference_number); }
  void operator()(const itch::OrderReplace& m) {
    (void)books_.replace(m.original_order_reference_number, m.new_order_reference_number, m.shares,
                         m.price);
  }
  void operator()(const itch::StockDirectory& m) { name_symbol(m.stock.view()); }
  void operator()(const itch::SystemEvent& m) {
    if (day_.on_event(m.event_code) != itch::DayBreak::kDay) return;
    books_.clear();
    std::ranges::fill(rows_, Row{});  // locates are a day's
    followed_.clear();
  }
  void operator()(const auto&) {}

 private:
  struct Row {
    bool named = false;
    std::vector<double>* path = nullptr;
    double last = std::numeric_limits<double>::quiet_NaN();
  };
  template <class Message>
  void add(const Message& m) {
    name_symbol(m.stock.view());
    (void)books_.add(locate_, m.order_reference_number, itch::side_of(m.buy_sell_indicator),
                     m.shares, m.price);
  }
  void name_symbol(std::string_view symbol) {
    Row& row = rows_[locate_];
    if (std::exchange(row.named, true)) return;
    const Listing listing{venue_, names_.name_of(symbol)};
    if (!wanted_.contains(listing)) return;
    auto& path = paths_[listing];
    path.resize(grid_.points, std::numeric_limits<double>::quiet_NaN());
    row.path = &path;
    followed_.push_back(locate_);
  }
  // The next point has the books as they are.
  void note() {
    for (const book::Locate locate : followed_) {
      Row& row = rows_[locate];
      const book::Quote bid = books_.best(locate, Side::kBuy);
      const book::Quote ask = books_.best(locate, Side::kSell);
      if (bid.shares != 0 && ask.shares != 0)
        row.last =
            (static_cast<double>(bid.price) + static_cast<double>(ask.price)) / 2 / kUnitsInPrice;
      (*row.path)[next_] = row.last;
    }
    ++next_;
  }

  std::uint8_t venue_;
  const control::LongNames& names_;
  const std::set<Listing>& wanted_;
  const Grid& grid_;
  book::LevelBookSet books_;
  itch::TradingDay day_;
  std::vector<Row> rows_;  // by locate
  std::vector<book::Locate> followed_;
  PricePaths paths_;
  std::size_t next_ = 0;  // point of the grid that is not written yet
  book::Locate locate_ = 0;
};

}  // namespace

std::vector<Replayed> replayed_in(const std::vector<std::string>& run_dirs,
                                  const std::vector<control::Summary>& summaries) {
  std::vector<Replayed> found;
  const std::string ending = ".ledger.json";
  for (const std::string& run_dir : run_dirs) {
    if (!std::filesystem::is_directory(run_dir)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(run_dir)) {
      if (!entry.path().filename().string().ends_with(ending)) continue;
      std::ifstream file(entry.path());
      const auto ledger = nlohmann::json::parse(file, nullptr, false);
      if (ledger.is_discarded()) throw Error(entry.path().string() + " is damaged: no JSON");
      const std::string file_name = entry.path().filename();
      const std::string name = file_name.substr(0, file_name.size() - ending.size());
      const auto summary = std::ranges::find(summaries, name, &control::Summary::name);
      const std::uint8_t venue = summary == summaries.end() ? std::uint8_t{0} : summary->venue;
      found.push_back({venue, ledger.value("recording", ""), ledger.value("recording_stock", ""),
                       ledger.value("recording_messages", std::uint64_t{0}),
                       ledger.value("recording_digest", "")});
    }
  }
  std::ranges::sort(found, {}, &Replayed::path);
  return found;
}

std::string add_prices(const Replayed& replayed, const control::LongNames& names,
                       const std::set<Listing>& listings, const Grid& grid, PricePaths& paths) {
  if (replayed.path.empty()) return "the run names no recording";
  if (replayed.messages > kMessagesMax)
    return replayed.path + " has more than " + std::to_string(kMessagesMax) + " messages";
  std::unique_ptr<itch::RecordingReader> recording;
  try {
    recording = itch::open_recording(replayed.path, {.stock = replayed.stock});
  } catch (const Error& error) {
    return error.what();
  }
  Middles middles(replayed.venue, names, listings, grid,
                  book_options(recording->file_bytes_total()));
  itch::MessageDigest digest;
  itch::RecordedMessage message;
  std::uint64_t read = 0;
  for (; read < replayed.messages; ++read) {
    if (recording->next(message) != itch::ReadStatus::kMessage) break;
    digest.take(message.bytes);
    middles.take(static_cast<double>(message.timestamp_ns) * 1e-9, message.bytes);
  }
  if (!replayed.digest.empty() && itch::digest_text(digest.value()) != replayed.digest)
    return replayed.path + " is not the recording that was replayed: its digest is another one";
  paths.merge(middles.finish());
  return {};
}

}  // namespace tickpath::report
