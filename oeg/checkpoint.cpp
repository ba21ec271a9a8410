#include "oeg/checkpoint.hpp"

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/fnv.hpp"
#include "common/base/replace_file.hpp"
#include "common/net/file_descriptor.hpp"

namespace tickpath::oeg {
namespace {

// False: the file ends before.
bool read(int file, std::span<char> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError("cannot read " + path, errno);
    if (got == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

// ------------------------------------------------------------------------------------- writing

class Body {
 public:
  template <class Item>
  void add(SectionKind kind, std::span<const Item> items) {
    const CheckpointSection section{kind, sizeof(Item), items.size()};
    append(&section, sizeof(section));
    append(items.data(), items.size_bytes());
    ++sections;
  }

  std::string bytes = std::string(sizeof(CheckpointHeader), '\0');  // it comes last
  std::uint32_t sections = 0;

 private:
  void append(const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  }
};

CheckpointFacts facts_of(const JournalState& state) {
  CheckpointFacts facts{};
  facts.counts.take(state.counters);
  facts.records = state.records;
  facts.impossible = state.impossible;
  facts.last = state.last;
  return facts;
}

std::vector<CheckpointInstrument> instruments_of(const JournalState& state) {
  std::vector<CheckpointInstrument> result;
  for (std::uint32_t id = 0; id < state.instruments.capacity(); ++id) {
    const fix::Symbol& symbol = state.instruments[id].symbol;
    if (symbol.length == 0) continue;
    CheckpointInstrument item{};
    item.id = id;
    std::memcpy(item.symbol, symbol.text, symbol.length);
    result.push_back(item);
  }
  return result;
}

std::vector<wire::PositionRow> positions_of(const JournalState& state) {
  std::vector<wire::PositionRow> result;
  for (std::uint32_t row = 0; row < state.ledger.position_count(); ++row)
    result.push_back(state.ledger.position(row).row);
  return result;
}

std::vector<SavedOrder> orders_of(const JournalState& state) {
  std::vector<SavedOrder> result;
  for (const JournalState::StrategyIds& ids : state.strategies)
    state.ledger.for_each(ids.strategy, [&](const Order& order) { result.push_back(order); });
  return result;
}

std::vector<CheckpointSecondCancel> second_cancels_of(const JournalState& state) {
  std::vector<CheckpointSecondCancel> result;
  for (const JournalState::StrategyIds& ids : state.strategies)
    state.ledger.for_each(ids.strategy, [&](const Order& order) {
      if (order.second_cancel_id != 0)
        result.push_back({order.id,
                          order.second_cancel_id,
                          order.second_cancel_own,
                          order.second_cancel_stale,
                          {}});
    });
  return result;
}

std::vector<CheckpointOrderTerms> terms_of(const JournalState& state) {
  std::vector<CheckpointOrderTerms> result;
  for (const JournalState::StrategyIds& ids : state.strategies)
    state.ledger.for_each(ids.strategy, [&](const Order& order) {
      const CheckpointOrderTerms terms{order.id,
                                       order.display_shares,
                                       order.minimum_shares,
                                       order.stop_price,
                                       order.pending_stop_price,
                                       order.instructions,
                                       {}};
      if ((terms.display_shares | terms.minimum_shares | terms.stop_price |
           terms.pending_stop_price | terms.instructions) != 0)
        result.push_back(terms);
    });
  return result;
}

std::vector<Execution> executions_of(const JournalState& state) {
  std::vector<Execution> result;
  state.executions.for_each([&](const Execution& execution) { result.push_back(execution); });
  return result;
}

// ------------------------------------------------------------------------------------- reading

class Reader {
 public:
  Reader(const std::string& path, std::vector<char> bytes)
      : path_(path), bytes_(std::move(bytes)) {}

  bool at_end() const noexcept { return at_ == bytes_.size(); }
  CheckpointSection section() {
    CheckpointSection result;
    std::memcpy(&result, take(sizeof(result)), sizeof(result));
    if (result.item_bytes == 0 || result.count > (bytes_.size() - at_) / result.item_bytes)
      damaged();
    return result;
  }
  // Rows, with fees or without.
  std::vector<wire::PositionRow> positions(const CheckpointSection& section) {
    if (section.kind == SectionKind::kPositions) return items<wire::PositionRow>(section);
    std::vector<wire::PositionRow> rows;
    for (const CheckpointFormerRow& row : items<CheckpointFormerRow>(section))
      rows.push_back({row.instrument_id,
                      row.strategy_id,
                      {},
                      row.position_shares,
                      row.cash,
                      row.open_buy_shares,
                      row.open_sell_shares,
                      static_cast<std::uint32_t>(row.events),
                      static_cast<std::uint32_t>(row.fills),
                      0});
    return rows;
  }
  template <class Item>
  std::vector<Item> items(const CheckpointSection& section) {
    if (section.item_bytes != sizeof(Item)) unknown(section);
    std::vector<Item> result(section.count);
    const std::size_t size = section.count * sizeof(Item);
    if (size != 0) std::memcpy(result.data(), take(size), size);
    return result;
  }
  void skip(const CheckpointSection& section) { (void)take(section.count * section.item_bytes); }
  [[noreturn]] void damaged() const {
    throw Error("checkpoint " + path_ +
                " is damaged; set journal and checkpoint aside to start empty (positions are lost "
                "with them), or restore them");
  }
  [[noreturn]] void unknown(const CheckpointSection& section) const {
    throw Error("checkpoint " + path_ + " is of a newer version of oeg (section " +
                std::to_string(static_cast<std::uint32_t>(section.kind)) + " of " +
                std::to_string(section.item_bytes) + " bytes); start that version");
  }
  [[noreturn]] void too_small(const char* key) const {
    throw Error("checkpoint " + path_ + " needs more " + key + " than the configuration has");
  }

 private:
  const char* take(std::size_t size) {
    if (size > bytes_.size() - at_) damaged();
    at_ += size;
    return bytes_.data() + (at_ - size);
  }

  const std::string& path_;
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

void restore_facts(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const CheckpointFacts& facts : reader.items<CheckpointFacts>(section)) {
    facts.counts.give(state.counters);
    state.records = facts.records;
    state.impossible = facts.impossible;
    state.last = facts.last;
  }
}

void restore_instruments(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const CheckpointInstrument& item : reader.items<CheckpointInstrument>(section)) {
    if (item.id >= state.instruments.capacity()) reader.too_small("mdh.instruments_max");
    state.instruments.set_symbol(item.id,
                                 {item.symbol, ::strnlen(item.symbol, sizeof(item.symbol))});
  }
}

void restore_positions(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const wire::PositionRow& row : reader.positions(section))
    if (!state.ledger.restore(row)) reader.too_small("orders.positions_max");
}

void restore_orders(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const SavedOrder& item : reader.items<SavedOrder>(section)) {
    if (item.row >= state.ledger.position_count()) reader.damaged();
    const wire::PositionRow& row = state.ledger.position(item.row).row;
    Order order;
    static_cast<SavedOrder&>(order) = item;
    order.instrument = row.instrument_id;
    order.strategy = row.strategy_id;
    if (!state.ledger.restore(order)) reader.too_small("orders.max");
  }
}

void restore_second_cancels(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const CheckpointSecondCancel& item : reader.items<CheckpointSecondCancel>(section)) {
    Order* const order = state.ledger.find(item.order_id);
    if (order == nullptr || !state.ledger.set_second_cancel(*order, item.cancel_id, item.own != 0))
      reader.damaged();
    order->second_cancel_stale = item.stale != 0;
  }
}

void restore_terms(Reader& reader, const CheckpointSection& section, JournalState& state) {
  for (const CheckpointOrderTerms& item : reader.items<CheckpointOrderTerms>(section)) {
    Order* const order = state.ledger.find(item.order_id);
    if (order == nullptr) reader.damaged();
    order->display_shares = item.display_shares;
    order->minimum_shares = item.minimum_shares;
    order->stop_price = item.stop_price;
    order->pending_stop_price = item.pending_stop_price;
    order->instructions = item.instructions;
  }
}

void restore_section(Reader& reader, JournalState& state) {
  const CheckpointSection section = reader.section();
  switch (section.kind) {
    case SectionKind::kFacts:
      return restore_facts(reader, section, state);
    case SectionKind::kInstruments:
      return restore_instruments(reader, section, state);
    case SectionKind::kFormerPositions:
    case SectionKind::kPositions:
      return restore_positions(reader, section, state);
    case SectionKind::kOrders:
      return restore_orders(reader, section, state);
    case SectionKind::kStrategies:
      state.strategies = reader.items<JournalState::StrategyIds>(section);
      return;
    case SectionKind::kExecutions:
      // A table that has become smaller keeps the newest.
      for (const Execution& execution : reader.items<Execution>(section))
        state.executions.add(execution);
      return;
    case SectionKind::kExceptions:
      state.exceptions = reader.items<JournalRecord>(section);
      return;
    case SectionKind::kSecondCancels:
      return restore_second_cancels(reader, section, state);
    case SectionKind::kOrderTerms:
      return restore_terms(reader, section, state);
    case SectionKind::kUnfinished:
      return state.entries.restore(reader.items<JournalRecord>(section));
    default:
      reader.unknown(section);
  }
}

// Empty: there is no such file.
std::vector<char> read_file(const std::string& path, CheckpointHeader& header) {
  const net::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return {};
    throw SystemError("cannot open checkpoint " + path, errno);
  }
  const Reader reader(path, {});
  if (!read(file.get(), std::span(reinterpret_cast<char*>(&header), sizeof(header)), path) ||
      std::memcmp(header.magic, CheckpointHeader::kMagic, sizeof(header.magic)) != 0)
    reader.damaged();
  if (header.version != CheckpointHeader::kVersion)
    throw Error("checkpoint " + path + " is of version " + std::to_string(header.version) +
                ", this oeg reads version " + std::to_string(CheckpointHeader::kVersion));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw SystemError("cannot stat " + path, errno);
  if (static_cast<std::uint64_t>(status.st_size) != sizeof(header) + header.body_bytes)
    reader.damaged();
  std::vector<char> body(header.body_bytes);
  if (!read(file.get(), body, path) || fnv1a({body.data(), body.size()}) != header.checksum)
    reader.damaged();
  return body;
}

}  // namespace

std::string checkpoint_bytes(const JournalState& state, std::uint64_t segment,
                             std::uint32_t incarnation) {
  Body body;
  const CheckpointFacts facts = facts_of(state);
  body.add(SectionKind::kFacts, std::span(&facts, 1));
  body.add<CheckpointInstrument>(SectionKind::kInstruments, instruments_of(state));
  body.add<wire::PositionRow>(SectionKind::kPositions, positions_of(state));
  body.add<SavedOrder>(SectionKind::kOrders, orders_of(state));
  body.add<JournalState::StrategyIds>(SectionKind::kStrategies, state.strategies);
  body.add<Execution>(SectionKind::kExecutions, executions_of(state));
  if (!state.exceptions.empty())
    body.add<JournalRecord>(SectionKind::kExceptions, state.exceptions);
  if (const auto cancels = second_cancels_of(state); !cancels.empty())
    body.add<CheckpointSecondCancel>(SectionKind::kSecondCancels, cancels);
  if (const auto terms = terms_of(state); !terms.empty())
    body.add<CheckpointOrderTerms>(SectionKind::kOrderTerms, terms);
  if (const auto& unfinished = state.entries.unfinished(); !unfinished.empty())
    body.add<JournalRecord>(SectionKind::kUnfinished, unfinished);
  CheckpointHeader header{};
  std::memcpy(header.magic, CheckpointHeader::kMagic, sizeof(header.magic));
  header.version = CheckpointHeader::kVersion;
  header.sections = body.sections;
  header.segment = segment;
  header.sequence = state.sequence;
  header.body_bytes = body.bytes.size() - sizeof(header);
  header.checksum = fnv1a(std::string_view(body.bytes).substr(sizeof(header)));
  header.incarnation = incarnation;
  std::memcpy(body.bytes.data(), &header, sizeof(header));
  return std::move(body.bytes);
}

void write_checkpoint(const std::string& path, const JournalState& state, std::uint64_t segment,
                      std::uint32_t incarnation, const std::function<void()>& renaming) {
  replace_file(path, {checkpoint_bytes(state, segment, incarnation)}, renaming);
}

bool read_checkpoint_header(const std::string& path, CheckpointHeader& header) {
  return !read_file(path, header).empty();
}

CheckpointHoldings read_checkpoint_holdings(const std::string& path) {
  CheckpointHeader header{};
  Reader reader(path, read_file(path, header));
  CheckpointHoldings holdings{header.sequence, {}, {}};
  for (std::uint32_t at = 0; at < header.sections; ++at) {
    const CheckpointSection section = reader.section();
    if (section.kind == SectionKind::kInstruments)
      holdings.instruments = reader.items<CheckpointInstrument>(section);
    else if (section.kind == SectionKind::kPositions ||
             section.kind == SectionKind::kFormerPositions)
      holdings.positions = reader.positions(section);
    else
      reader.skip(section);
  }
  return holdings;
}

void read_checkpoint(const std::string& path, JournalState& state) {
  CheckpointHeader header{};
  Reader reader(path, read_file(path, header));
  for (std::uint32_t at = 0; at < header.sections; ++at) restore_section(reader, state);
  if (!reader.at_end()) reader.damaged();
  state.sequence = header.sequence;
}

}  // namespace tickpath::oeg
