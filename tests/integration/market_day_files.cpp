#include "tests/integration/market_day_files.hpp"

#include <array>
#include <functional>
#include <span>

#include "common/feeds/iex/codec.hpp"
#include "common/feeds/iex/iex_tp.hpp"
#include "common/feeds/recordings/binary_file.hpp"
#include "tests/support/dbn_bytes.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/lobster_files.hpp"
#include "tests/unit/itch/capture_test_support.hpp"

namespace tickpath::test_support {
namespace day_files {
namespace {

using Bytes = std::vector<std::byte>;
using What = DayEvent::What;
namespace dbn = itch::dbn;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// ------------------------------------------------------------------------------------------ ITCH

// A day of messages of ITCH, in local time.
class ItchDay {
 public:
  ItchDay(const MarketDay& day, std::map<std::string, std::uint16_t>& locates)
      : day_(day), locates_(locates) {}

  void begin() { event(-1, itch::SystemEvent::kStartOfMessages); }
  void list(const std::string& symbol) {
    put(-1, itch::StockDirectory{.stock = itch::Stock(symbol)}, locates_.at(symbol));
    put(-1,
        itch::StockTradingAction{.stock = itch::Stock(symbol),
                                 .trading_state = itch::StockTradingAction::kTrading},
        locates_.at(symbol));
  }
  void trade() {
    for (const DayEvent& event : day_.events) tell(event);
  }
  void end() {
    event(61, itch::SystemEvent::kEndOfSystemHours);
    event(61, itch::SystemEvent::kEndOfMessages);
  }
  const std::vector<std::pair<std::uint64_t, Bytes>>& messages() const { return messages_; }

 private:
  // seconds: after the open.
  void event(int seconds, char code) { put(seconds, itch::SystemEvent{.event_code = code}, 0); }
  template <class Message>
  void put(int seconds, Message message, std::uint16_t locate) {
    put_at(day_.open_local_ns + static_cast<std::uint64_t>(seconds) * kSecondNs, message, locate);
  }
  template <class Message>
  void put_at(std::uint64_t time_ns, Message message, std::uint16_t locate) {
    message.header = {locate, 0, time_ns};
    messages_.emplace_back(time_ns, itch::test::encoded(message));
  }
  void tell(const DayEvent& e) {
    const std::uint16_t locate = locates_.at(e.symbol);
    const std::uint64_t time_ns = day_.open_local_ns + e.after_open_ns;
    const auto put_event = [&](const auto& message) { put_at(time_ns, message, locate); };
    switch (e.what) {
      case What::kAdd:
        return put_event(itch::AddOrder{.order_reference_number = e.order,
                                        .buy_sell_indicator = itch::indicator_of(e.side),
                                        .shares = e.shares,
                                        .stock = itch::Stock(e.symbol),
                                        .price = e.price});
      case What::kExecute:
        return put_event(itch::OrderExecuted{
            .order_reference_number = e.order, .executed_shares = e.shares, .match_number = 1});
      case What::kHidden:
        return put_event(itch::NonCrossTrade{.buy_sell_indicator = 'B',
                                             .shares = e.shares,
                                             .stock = itch::Stock(e.symbol),
                                             .price = e.price});
      case What::kCancel:
        return put_event(
            itch::OrderCancel{.order_reference_number = e.order, .cancelled_shares = e.shares});
      case What::kDelete:
        return put_event(itch::OrderDelete{.order_reference_number = e.order});
    }
  }

  const MarketDay& day_;
  std::map<std::string, std::uint16_t>& locates_;
  std::vector<std::pair<std::uint64_t, Bytes>> messages_;  // time of day
};

std::map<std::string, std::uint16_t> locates_in_order(const std::vector<std::string>& symbols) {
  std::map<std::string, std::uint16_t> locates;
  for (const std::string& symbol : symbols)
    locates.emplace(symbol, static_cast<std::uint16_t>(locates.size() + 1));
  return locates;
}

RecordedDay recorded_day(const MarketDay& day, std::uint64_t open_ns, std::uint64_t first_ns,
                         std::uint64_t last_ns) {
  return {day, first_ns, last_ns, open_ns + day.quiet_ns, open_ns};
}

// The two halves of a night, between a start of messages and an end of them.
std::vector<RecordedDay> recorded_night(const std::vector<MarketDay>& halves) {
  const auto half = [](const MarketDay& day, std::uint64_t last_after_open_ns) {
    const std::uint64_t open_ns = day.open_utc_ns;
    return recorded_day(day, open_ns, open_ns - kSecondNs, open_ns + last_after_open_ns);
  };
  return {half(halves[0], halves[0].events.back().after_open_ns), half(halves[1], 61 * kSecondNs)};
}

using ItchMessages = std::vector<std::pair<std::uint64_t, Bytes>>;

// Whole days, whose locates and references are given anew.
std::vector<ItchMessages> itch_days(const std::vector<MarketDay>& days, DaysRecording& recording) {
  std::vector<ItchMessages> all;
  for (const MarketDay& day : days) {
    auto locates = locates_in_order(day.symbols);
    ItchDay messages(day, locates);
    messages.begin();
    for (const std::string& symbol : day.symbols) messages.list(symbol);
    messages.trade();
    messages.end();
    all.push_back(messages.messages());
    recording.days.push_back(recorded_day(day, day.open_local_ns, day.open_local_ns - kSecondNs,
                                          day.open_local_ns + 61 * kSecondNs));
  }
  return all;
}

// One day, whose times start anew in the middle: nothing marks the midnight.
ItchMessages itch_night(const std::vector<MarketDay>& halves, DaysRecording& recording) {
  auto locates = locates_in_order({"AAAA", "BBBB", "CCCC"});
  ItchDay before(halves[0], locates), after(halves[1], locates);
  before.begin();
  before.list("AAAA");
  before.list("BBBB");
  before.trade();
  after.list("CCCC");
  after.trade();
  after.end();
  ItchMessages all = before.messages();
  all.insert(all.end(), after.messages().begin(), after.messages().end());
  recording.days = recorded_night(halves);
  return all;
}

void write_binary_file(const std::string& path, const std::vector<ItchMessages>& parts) {
  itch::BinaryFileWriter writer(path);
  for (const ItchMessages& part : parts)
    for (const auto& [time_ns, message] : part) writer.write(message);
  writer.finish();
}

const std::vector<std::vector<std::string>> kSymbols{
    {"AAAA", "BBBB"}, {"CCCC", "AAAA"}, {"AAAA", "CCCC"}};

DaysRecording write_itch(const std::string& folder) {
  DaysRecording recording{.files = folder + "/days.itch50"};
  write_binary_file(recording.files, itch_days(market_of_days(kSymbols), recording));
  return recording;
}

DaysRecording write_itch_files(const std::string& folder) {
  DaysRecording recording;
  int number = 0;
  for (const ItchMessages& day : itch_days(market_of_days(kSymbols), recording)) {
    const std::string file = folder + "/day" + std::to_string(++number) + ".itch50";
    write_binary_file(file, {day});
    recording.files += (number == 1 ? "" : ",") + file;
  }
  return recording;
}

DaysRecording write_itch_night(const std::string& folder) {
  DaysRecording recording{.files = folder + "/night.itch50"};
  write_binary_file(recording.files, {itch_night(market_of_a_night(), recording)});
  return recording;
}

// A session a day, captured by a clock of UTC.
DaysRecording write_moldudp64(const std::string& folder) {
  DaysRecording recording{.files = folder + "/days.pcap"};
  const std::vector<MarketDay> days = market_of_days(kSymbols);
  const std::vector<ItchMessages> messages = itch_days(days, recording);
  std::vector<itch::test::Frame> frames;
  for (std::size_t i = 0; i < days.size(); ++i) {
    const std::string session = "DAY" + std::to_string(i + 1);
    const std::uint64_t to_utc_ns =
        days[i].midnight_ns + days[i].open_utc_ns - days[i].open_local_ns;
    std::uint64_t sequence = 0;
    for (const auto& [time_ns, message] : messages[i])
      frames.push_back(itch::test::udp_frame(
          to_utc_ns + time_ns, itch::test::mold_packet(++sequence, {message}, session.c_str())));
  }
  itch::test::write_file(recording.files, itch::test::pcap_file(frames));
  return recording;
}

// --------------------------------------------------------------------------------------- LOBSTER

// A file a day, of one symbol each.
DaysRecording write_lobster(const std::string& folder, bool window) {
  constexpr std::size_t kLevels = 3;
  DaysRecording recording{.dated = true, .passes_days = true};
  for (const MarketDay& day : market_of_days({{"BBBB"}, {"AAAA"}, {"AAAA"}})) {
    const std::string start =
        folder + "/" + day.symbols[0] + "_" + day.date + "_34200000_57600000_";
    auto locates = locates_in_order(day.symbols);
    ItchDay messages(day, locates);
    messages.trade();
    LobsterWriter writer(kLevels);
    for (const auto& [time_ns, message] : messages.messages()) (void)itch::decode(message, writer);
    const LobsterFiles files = writer.files();
    test_support::write_file(start + "message_3.csv", files.messages);
    if (window) test_support::write_file(start + "orderbook_3.csv", files.orderbook);
    recording.files += (recording.days.empty() ? "" : ",") + start + "message_3.csv";
    const auto at = [&](const DayEvent& event) { return day.open_local_ns + event.after_open_ns; };
    recording.days.push_back(
        recorded_day(day, day.open_local_ns, at(day.events.front()), at(day.events.back())));
  }
  return recording;
}

// ------------------------------------------------------------------------------------- Databento

// Market by order, in UTC.
class Databento {
 public:
  explicit Databento(std::vector<dbn::Mapping> mappings)
      : file_(encode_metadata({.dataset = "XNAS.ITCH", .mappings = std::move(mappings)})) {}

  // instruments: of the day's symbols.
  void day(const MarketDay& day, const std::map<std::string, std::uint32_t>& instruments,
           bool snapshots) {
    turn_to(day, instruments);
    bool due = snapshots;
    for (const DayEvent& event : day.events) {
      if (due && event.after_open_ns > day.quiet_ns) {
        for (const std::string& symbol : day.symbols)
          snapshot(symbol, day.open_utc_ns + day.quiet_ns);
        due = false;
      }
      tell(event);
    }
  }
  // What the venue says when it begins: nothing rests.
  void clear(const MarketDay& day, std::uint32_t instrument) {
    day_ = &day;
    write('R', 'N', instrument, 0, 0, 0, day.open_utc_ns - kSecondNs, dbn::kLast);
    std::erase_if(orders_, [&](const auto& each) { return each.second.instrument == instrument; });
  }
  // R, and what rests of the symbol.
  void snapshot(const std::string& symbol, std::uint64_t time_of_day_ns) {
    const std::uint32_t instrument = instruments_.at(symbol);
    write('R', 'N', instrument, 0, 0, 0, time_of_day_ns, dbn::kSnapshot);
    for (const auto& [id, order] : orders_)
      if (order.instrument == instrument)
        write('A', side_of(order.side), instrument, id, order.price, order.shares, time_of_day_ns,
              dbn::kSnapshot);
  }
  void turn_to(const MarketDay& day, const std::map<std::string, std::uint32_t>& instruments) {
    day_ = &day;
    instruments_ = instruments;
  }
  const Bytes& file() const { return file_; }

 private:
  struct Order {
    std::uint32_t instrument;
    Side side;
    std::uint32_t price;
    std::uint32_t shares;
  };
  static char side_of(Side side) { return side == Side::kBuy ? 'B' : 'A'; }

  void write(char action, char side, std::uint32_t instrument, std::uint64_t order,
             std::uint32_t price, std::uint32_t shares, std::uint64_t time_of_day_ns,
             std::uint8_t flags) {
    const std::uint64_t time_ns = day_->midnight_ns + time_of_day_ns;
    const dbn::MboMessage message{.publisher = 2,
                                  .instrument = instrument,
                                  .event_time_ns = time_ns,
                                  .order_id = order,
                                  .price = std::int64_t{price} * 100'000,
                                  .size = shares,
                                  .flags = flags,
                                  .action = action,
                                  .side = side,
                                  .receive_time_ns = time_ns};
    append_mbo(message, file_);
  }
  void tell(const DayEvent& e) {
    const std::uint32_t instrument = instruments_.at(e.symbol);
    const std::uint64_t time_ns = day_->open_utc_ns + e.after_open_ns;
    const auto say = [&](char action, char side, std::uint64_t order, std::uint8_t flags) {
      write(action, side, instrument, order, e.price, e.shares, time_ns, flags);
    };
    switch (e.what) {
      case What::kAdd:
        orders_[e.order] = {instrument, e.side, e.price, e.shares};
        return say('A', side_of(e.side), e.order, dbn::kLast);
      case What::kHidden:
        return say('T', 'N', 0, dbn::kLast);
      case What::kExecute:
        say('T', side_of(opposite(e.side)), 0, 0);
        say('F', side_of(e.side), e.order, 0);
        [[fallthrough]];
      case What::kCancel:
      case What::kDelete:
        if ((orders_.at(e.order).shares -= e.shares) == 0) orders_.erase(e.order);
        return say('C', side_of(e.side), e.order, dbn::kLast);
    }
  }

  Bytes file_;
  std::map<std::uint64_t, Order> orders_;
  std::map<std::string, std::uint32_t> instruments_;
  const MarketDay* day_ = nullptr;
};

// Numbers of instruments are given anew each day.
DaysRecording write_databento(const std::string& folder, bool snapshots) {
  DaysRecording recording{.files = folder + "/days.dbn", .dated = true, .passes_days = true};
  const std::vector<std::map<std::string, std::uint32_t>> instruments{
      {{"AAAA", 100}, {"BBBB", 101}},
      {{"AAAA", 101}, {"CCCC", 100}},
      {{"AAAA", 100}, {"CCCC", 101}}};
  constexpr std::array<std::uint32_t, 4> kDates{2024'03'08, 2024'03'11, 2024'03'12, 2024'03'13};
  std::vector<dbn::Mapping> mappings;
  for (std::size_t i = 0; i < instruments.size(); ++i)
    for (const auto& [symbol, instrument] : instruments[i])
      mappings.push_back({kDates[i], kDates[i + 1], instrument, symbol});
  Databento file(mappings);
  const std::vector<MarketDay> days = market_of_days(kSymbols);
  for (std::size_t i = 0; i < days.size(); ++i) {
    for (const auto& [symbol, instrument] : instruments[i]) file.clear(days[i], instrument);
    file.day(days[i], instruments[i], snapshots);
    const std::uint64_t open_ns = days[i].open_utc_ns;
    recording.days.push_back(recorded_day(days[i], open_ns, open_ns - kSecondNs,
                                          open_ns + days[i].events.back().after_open_ns));
  }
  itch::test::write_file(recording.files, file.file());
  return recording;
}

// As Databento's files are parted: the second one begins at midnight with what rests.
DaysRecording write_databento_night(const std::string& folder) {
  DaysRecording recording{.files = folder + "/night.dbn", .dated = true, .passes_days = true};
  const std::vector<MarketDay> halves = market_of_a_night();
  const std::map<std::string, std::uint32_t> before{{"AAAA", 100}, {"BBBB", 101}};
  const std::map<std::string, std::uint32_t> after{{"AAAA", 100}, {"CCCC", 102}};
  Databento file({{2024'03'10, 2024'03'12, 100, "AAAA"},
                  {2024'03'10, 2024'03'11, 101, "BBBB"},
                  {2024'03'11, 2024'03'12, 102, "CCCC"}});
  file.day(halves[0], before, false);
  file.turn_to(halves[1], after);
  file.snapshot("AAAA", 0);
  file.clear(halves[1], 102);
  file.day(halves[1], after, true);
  for (const MarketDay& half : halves) {
    const bool first = &half == &halves[0];
    recording.days.push_back(recorded_day(
        half, half.open_utc_ns, first ? half.open_utc_ns + half.events.front().after_open_ns : 0,
        half.open_utc_ns + half.events.back().after_open_ns));
  }
  itch::test::write_file(recording.files, file.file());
  return recording;
}

// ------------------------------------------------------------------------------------------ DEEP

// A capture of IEX DEEP, in UTC: a segment an event.
class Deep {
 public:
  void begin_session() {
    ++session_;
    sequence_ = 1;
    levels_.clear();
  }
  void event(const MarketDay& day, std::int64_t seconds, char code) {
    send(day.midnight_ns + day.open_utc_ns + static_cast<std::uint64_t>(seconds) * kSecondNs,
         iex::SystemEvent{.event = code});
  }
  void list(const MarketDay& day, const std::string& symbol) {
    const std::uint64_t time_ns = day.midnight_ns + day.open_utc_ns - kSecondNs;
    send(time_ns, iex::SecurityDirectory{.symbol = iex::Symbol(symbol), .round_lot_size = 100});
    send(time_ns, iex::TradingStatus{.status = 'T', .symbol = iex::Symbol(symbol)});
  }
  void trade(const MarketDay& day) {
    for (const DayEvent& event : day.events)
      tell(day.midnight_ns + day.open_utc_ns + event.after_open_ns, event);
  }
  Bytes file() const { return itch::test::pcap_file(frames_); }

 private:
  template <class Message>
  void send(std::uint64_t time_ns, Message message) {
    message.timestamp = static_cast<iex::Timestamp>(time_ns);
    std::array<std::byte, 200> buffer;
    std::array<std::byte, iex::kMaxMessageBytes> bytes;
    iex::SegmentBuilder segment(buffer,
                                {.protocol = iex::kDeep10, .channel = 1, .session = session_});
    segment.begin(sequence_++);
    if (!segment.append(std::span(bytes).first(iex::encode(message, bytes.data())))) std::abort();
    frames_.push_back(itch::test::udp_frame(time_ns, segment.finish(time_ns)));
  }
  void tell(std::uint64_t time_ns, const DayEvent& e) {
    if (e.what == What::kExecute || e.what == What::kHidden)
      send(time_ns,
           iex::TradeReport{.symbol = iex::Symbol(e.symbol), .size = e.shares, .price = e.price});
    if (e.what == What::kHidden) return;
    std::uint32_t& level = levels_[{e.symbol, e.side, e.price}];
    level += e.what == What::kAdd ? e.shares : 0 - e.shares;
    const auto update = [&]<class Update>(Update message) {
      message.flags = Update::kEventComplete;
      message.symbol = iex::Symbol(e.symbol);
      message.size = level;
      message.price = e.price;
      send(time_ns, message);
    };
    if (e.side == Side::kBuy)
      update(iex::BuyLevelUpdate{});
    else
      update(iex::SellLevelUpdate{});
  }

  std::uint32_t session_ = 0;
  std::uint64_t sequence_ = 1;
  std::map<std::tuple<std::string, Side, std::uint32_t>, std::uint32_t> levels_;
  std::vector<itch::test::Frame> frames_;
};

DaysRecording write_deep(const std::string& folder) {
  DaysRecording recording{
      .files = folder + "/deep.pcap", .dated = true, .passes_days = true, .deep = true};
  Deep deep;
  for (const MarketDay& day : market_of_days(kSymbols)) {
    deep.begin_session();
    deep.event(day, -1, iex::SystemEvent::kStartOfMessages);
    for (const std::string& symbol : day.symbols) deep.list(day, symbol);
    deep.trade(day);
    deep.event(day, 61, iex::SystemEvent::kEndOfMessages);
    recording.days.push_back(recorded_day(day, day.open_utc_ns, day.open_utc_ns - kSecondNs,
                                          day.open_utc_ns + 61 * kSecondNs));
  }
  itch::test::write_file(recording.files, deep.file());
  return recording;
}

DaysRecording write_deep_night(const std::string& folder) {
  DaysRecording recording{
      .files = folder + "/night.pcap", .dated = true, .passes_days = true, .deep = true};
  const std::vector<MarketDay> halves = market_of_a_night();
  Deep deep;
  deep.begin_session();
  deep.event(halves[0], -1, iex::SystemEvent::kStartOfMessages);
  deep.list(halves[0], "AAAA");
  deep.list(halves[0], "BBBB");
  deep.trade(halves[0]);
  deep.list(halves[1], "CCCC");
  deep.trade(halves[1]);
  deep.event(halves[1], 61, iex::SystemEvent::kEndOfMessages);
  recording.days = recorded_night(halves);
  itch::test::write_file(recording.files, deep.file());
  return recording;
}

}  // namespace
}  // namespace day_files

std::vector<DaysFormat> formats_of_days() {
  using namespace day_files;
  return {{"Itch", write_itch},
          {"ItchFiles", write_itch_files},
          {"ItchNight", write_itch_night},
          {"MoldUdp64", write_moldudp64},
          {"Lobster", [](const std::string& folder) { return write_lobster(folder, false); }},
          {"LobsterWindow", [](const std::string& folder) { return write_lobster(folder, true); }},
          {"Databento", [](const std::string& folder) { return write_databento(folder, false); }},
          {"DatabentoSnapshots",
           [](const std::string& folder) { return write_databento(folder, true); }},
          {"DatabentoNight", write_databento_night},
          {"Deep", write_deep},
          {"DeepNight", write_deep_night}};
}

}  // namespace tickpath::test_support
