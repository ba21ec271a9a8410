#include "common/stores/home/reader.hpp"

#include <sched.h>

#include "common/clock/clock.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::home {

HomeReader::HomeReader(rdma::Device& device, const std::string& endpoint, const std::string& name,
                       wire::Role role)
    : words_(device, name + ".words") {
  const wire::Hello hello = wire::make_hello(role, wire::Service::kHome, name);
  connection_ = std::move(
      link::connect_tables(device, endpoint, link::bytes_of(hello), {}, 2000, "mdh").connection);
  const auto refuse = [&](const std::string& why) {
    throw rdma::SetupError(rdma::SetupCause::kProtocol, endpoint + ": " + why);
  };
  if (!HomeRegions::of(connection_->extras(), false, regions_)) refuse("it grants no book home");
  words_.attach(*connection_, regions_.header);
  if (!words_.ask() || !wait([&] { return words_.arrived(); })) refuse("it does not answer");
  const HomeHeader header = words_.as<HomeHeader>();
  words_.attach(*connection_, regions_.words);
  if (const char* const wrong = wrong_with(header)) refuse(wrong);
  layout_ = HomeLayout({header.rows, header.venues, header.lanes});
  if (!regions_.hold(layout_)) refuse("its memory is smaller than its header says");
  index_.emplace(device, name + ".index");
  index_->attach(*connection_, regions_, layout_);
  quotes_ = std::make_unique<link::SharedRecords<wire::Consolidated>>(device, header.rows, 1,
                                                                      name + ".quotes");
  quotes_->attach(*connection_, regions_.quotes(layout_));
  books_ = std::make_unique<link::SharedRecords<wire::VenueBook>>(
      device, std::size_t{header.rows} * header.venues, 1, name + ".books");
  books_->attach(*connection_, regions_.books(layout_));
}

template <class Done>
bool HomeReader::wait(Done&& done) {
  const std::int64_t end_ns = clock::monotonic_ns() + std::int64_t{kTimeoutMs} * 1'000'000;
  while (!done()) {
    connection_->poll();
    if (connection_->failed() || clock::monotonic_ns() > end_ns) return done();
    sched_yield();  // whoever writes may need this core
  }
  return true;
}

ReadOutcome HomeReader::find(std::string_view symbol, std::uint32_t& row) {
  if (symbol.empty() || symbol.size() > 8) return ReadOutcome::kAbsent;
  const std::uint64_t word = wire::symbol_word(symbol);
  if (const auto known = rows_.find(word); known != rows_.end()) {
    row = known->second;
    return ReadOutcome::kOk;
  }
  if (!index_->find(word)) return ReadOutcome::kFailed;
  HomeIndex::Result result = HomeIndex::Result::kPending;
  const bool over = wait([&] {
    if (result == HomeIndex::Result::kPending) result = index_->step();
    return result != HomeIndex::Result::kPending;
  });
  if (!over) return ReadOutcome::kFailed;
  if (result == HomeIndex::Result::kAbsent) return ReadOutcome::kAbsent;
  if (result != HomeIndex::Result::kFound) return ReadOutcome::kFailed;
  row = index_->row();
  rows_.emplace(word, row);
  return ReadOutcome::kOk;
}

// The lanes' words are asked for behind the record, and answered behind it. If the
// record had to be READ again, the words are older than it, and are asked for again. A writer may
// have ended, or begun anew, in between.
template <class T>
ReadOutcome HomeReader::read(link::SharedRecords<T>& records, std::size_t record, T& out) {
  if (!records.read(record, 0) || !words_.ask(HomeLayout::kLanes)) return ReadOutcome::kFailed;
  link::SharedResult result;
  const auto repeats = [&records] { return records.torn_reads() + records.other_slots(); };
  const std::uint64_t before = repeats();
  bool taken = false;
  const auto both = [&] {
    taken = taken || records.take(result, out);
    return taken && words_.arrived();
  };
  bool over = wait(both);
  if (over && repeats() != before) over = words_.ask(HomeLayout::kLanes) && wait(both);
  if (!over || result.status == link::SharedStatus::kFailed) return ReadOutcome::kFailed;
  if (result.status == link::SharedStatus::kEmpty) return ReadOutcome::kAbsent;
  return result.status == link::SharedStatus::kOk ? ReadOutcome::kOk : ReadOutcome::kTorn;
}

bool HomeReader::alive(wire::Writer writer) const noexcept {
  return is_alive(
      writer,
      wire::Lane::of_word(
          words_.as<std::array<std::uint64_t, link::kLanesMax>>()[writer.lane % link::kLanesMax]));
}

ReadOutcome HomeReader::consolidated(std::uint32_t row, wire::Consolidated& out) {
  const ReadOutcome outcome = read(*quotes_, row, out);
  if (outcome != ReadOutcome::kOk) return outcome;
  std::uint32_t living = 0;
  for (std::size_t venue = 0; venue < wire::kVenuesMax; ++venue)
    if (alive(out.venues[venue].writer())) living |= 1u << venue;
  consolidate(out, living);
  return outcome;
}

ReadOutcome HomeReader::book(std::uint32_t row, std::uint32_t venue, BookRead& out) {
  const ReadOutcome outcome =
      read(*books_, std::size_t{venue} * layout_.shape().rows + row, out.book);
  if (outcome == ReadOutcome::kOk) out.alive = alive(wire::Writer::of_word(out.book.writer));
  return outcome;
}

}  // namespace tickpath::home
