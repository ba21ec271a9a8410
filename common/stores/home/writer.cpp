#include "common/stores/home/writer.hpp"

#include <algorithm>

#include "common/clock/clock.hpp"
#include "common/link/detail/table_setup.hpp"
#include "common/wire/directory.hpp"
#include "common/wire/hello.hpp"

namespace tickpath::home {
namespace {

// Rows of a home of another size than we have instruments; what is beyond is refused.
constexpr std::size_t kBooksMax = std::size_t{wire::kVenuesMax} * kRowsMax;

}  // namespace

HomeWriter::HomeWriter(rdma::Device& device, rdma::CompletionChannel* channel,
                       HomeWriterOptions options)
    : options_(std::move(options)),
      connections_(device, channel),
      header_(device, "home.header"),
      lease_(device, options_.lease, options_.name + ".lease"),
      index_(device, options_.name + ".index"),
      books_(device, kBooksMax, kOperations, options_.name + ".books"),
      quotes_(device, kRowsMax, kOperations, options_.name + ".quotes"),
      instruments_(options_.instruments_max),
      known_quotes_(options_.instruments_max) {
  // The books, the quotes, the index and the lease share one connection. Its queue has room for all
  // their requests. A repeated read that met a full queue would be given up
  // (SharedStatus::kFailed).
  static_assert(2 * kOperations * decltype(books_)::kRequestsMax + 2 <= link::kTableSendDepth);
  for (Queue* const queue : {&waiting_, &dirty_, &quotes_dirty_})
    queue->ids.resize(options_.instruments_max);
}

// ------------------------------------------------------------------------------- control thread

bool HomeWriter::maintain(std::uint64_t now_ns) {
  connections_.collect();
  return reconnect_.step(now_ns, [this] { return attempt(); });
}

bool HomeWriter::attempt() {
  if (connections_.connecting()) return connections_.poll_connect().has_value();
  wire::Hello hello = wire::make_hello(wire::Role::kMdh, wire::Service::kHomeWrite, options_.name);
  hello.parameters[0] = options_.venue;
  connections_.start_connect(options_.endpoint, link::bytes_of(hello), {}, 0, "mdh");
  return false;
}

std::string HomeWriter::not_ready_reason() const {
  if (up_.get() != 0) return {};
  if (wrong_.get() != 0) return "the book home at " + options_.endpoint + " cannot be used";
  const std::string& refused = reconnect_.error();
  const std::string& why = refused.empty() ? connections_.last_error() : refused;
  return "waiting for the book home at " + options_.endpoint + (why.empty() ? "" : ": " + why);
}

// --------------------------------------------------------------------------------- connections

bool HomeWriter::take_connection() noexcept {
  connection_ = connections_.take();
  if (connection_ == nullptr) return false;
  counters_.connections.add();
  link::Connection& to = *connection_->connection;
  if (!HomeRegions::of(to.extras(), true, regions_)) {
    wrong_.set(1);
    drop_connection();
    return false;
  }
  header_.attach(to, regions_.header);
  (void)header_.ask();
  return true;
}

void HomeWriter::drop_connection() noexcept {
  lease_.detach();
  index_.detach();
  books_.detach();
  quotes_.detach();
  header_.detach();
  // What was asked is not answered any more, and what was searched for is in no queue.
  for (Instrument& one : instruments_) one.book_busy = one.quote_busy = false;
  if (searching_ != kNobody) instruments_[searching_].state = State::kUnnamed;
  ready_ = false;
  self_ = {};
  searching_ = kNobody;
  lane_.set(0);
  up_.set(0);
  connections_.give_back(connection_);
  connection_ = nullptr;
  reconnect_.mark_down();
}

bool HomeWriter::read_header() noexcept {
  if (!header_.arrived()) return false;
  const HomeHeader& header = header_.as<HomeHeader>();
  if (wrong_with(header) == nullptr)
    layout_ = HomeLayout({header.rows, header.venues, header.lanes});
  if (wrong_with(header) != nullptr || !regions_.hold(layout_) || options_.venue >= header.venues) {
    wrong_.set(1);
    drop_connection();
    return false;
  }
  wrong_.set(0);
  link::Connection& to = *connection_->connection;
  lease_.attach(to, regions_, header.lanes);
  index_.attach(to, regions_, layout_);
  books_.attach(to, regions_.books(layout_));
  quotes_.attach(to, regions_.quotes(layout_));
  ready_ = true;
  lane_.set(regions_.own + 1);
  return true;
}

// False: nothing can be written now.
bool HomeWriter::begin_turn(std::uint64_t now_ns) noexcept {
  if (connection_ == nullptr && !take_connection()) [[unlikely]]
    return false;
  connection_->connection->poll();
  if (connection_->connection->failed() || lease_.failed()) [[unlikely]] {
    drop_connection();
    return false;
  }
  if (!ready_ && !read_header()) [[unlikely]]
    return false;
  lease_.step(now_ns);
  if (lease_.self() != self_) [[unlikely]]
    begin_epoch();
  if (!self_.somebody) [[unlikely]]
    return false;
  take_books();
  take_quotes();
  if (lease_.changes() != changes_seen_) [[unlikely]] {
    changes_seen_ = lease_.changes();
    sweep_left_ = static_cast<std::uint32_t>(instruments_.size());
  }
  if (sweep_left_ != 0) [[unlikely]]
    sweep();
  search();
  return true;
}

// Whatever we wrote before no longer counts.
void HomeWriter::begin_epoch() noexcept {
  self_ = lease_.self();
  up_.set(self_.somebody ? 1 : 0);
  if (!self_.somebody) return;
  for (std::uint32_t id = 0; id < instruments_.size(); ++id)
    if (instruments_[id].symbol != 0) wait(id);
}

// ----------------------------------------------------------------------------------- instruments

void HomeWriter::set_symbol(std::uint32_t id, std::string_view symbol) noexcept {
  if (id >= instruments_.size() || symbol.empty()) return;
  Instrument& one = instruments_[id];
  const std::uint64_t word = symbol.size() <= 8 ? wire::symbol_word(symbol) : 0;
  if (word == one.symbol && word != 0) return;
  one.symbol = word;
  if (word == 0) {
    counters_.refused.add();
    one.state = State::kRefused;
    return;
  }
  wait(id);
}

void HomeWriter::wait(std::uint32_t id) noexcept {
  Instrument& one = instruments_[id];
  one.book_known = one.quote_known = false;
  if (one.state == State::kWaiting) return;
  one.state = State::kWaiting;
  waiting_.push(id);
}

// One at a time: who is waited for, or whose search has ended.
void HomeWriter::search() noexcept {
  if (searching_ != kNobody) {
    const HomeIndex::Result result = index_.step();
    if (result == HomeIndex::Result::kPending) return;
    const std::uint32_t id = searching_;
    searching_ = kNobody;
    Instrument& one = instruments_[id];
    // Meanwhile another epoch has begun, or the instrument has another name.
    const bool outdated = searching_for_ != self_ || searching_symbol_ != one.symbol;
    if (outdated || result == HomeIndex::Result::kFailed) {
      one.state = State::kUnnamed;
      wait(id);
    } else if (result == HomeIndex::Result::kFound) {
      one.row = index_.row();
      one.state = State::kLearning;
      counters_.claimed.add();
      learn(id);
    } else if (result == HomeIndex::Result::kOther) {
      one.state = State::kOther;
      one.other = index_.claimed_by();
      counters_.left.add();
      // That writer may have ended while the index was asked. The sweep for it has passed this
      // instrument then, and will not come again.
      if (lease_.over(one.other)) wait(id);
    } else {
      one.state = State::kRefused;
      counters_.refused.add();
    }
  }
  if (waiting_.size == 0) return;
  const std::uint32_t id = waiting_.ids[waiting_.head];
  if (!index_.claim(instruments_[id].symbol, options_.venue, self_, lease_.words())) return;
  (void)waiting_.pop();
  searching_ = id;
  searching_for_ = self_;
  searching_symbol_ = instruments_[id].symbol;
}

// Instruments of others whose epoch has ended are ours to claim.
void HomeWriter::sweep() noexcept {
  constexpr std::uint32_t kAtOnce = 256;
  for (std::uint32_t i = 0; i < kAtOnce && sweep_left_ != 0; ++i, --sweep_left_) {
    sweep_at_ = (sweep_at_ + 1) % static_cast<std::uint32_t>(instruments_.size());
    const Instrument& one = instruments_[sweep_at_];
    if (one.state == State::kOther && lease_.over(one.other)) wait(sweep_at_);
  }
}

// Reads what the home has of it, so that it can be replaced.
void HomeWriter::learn(std::uint32_t id) noexcept {
  Instrument& one = instruments_[id];
  if (!one.book_known && !one.book_busy)
    one.book_busy = books_.read(options_.venue * layout_.shape().rows + std::size_t{one.row}, id);
  if (!one.quote_known && !one.quote_busy) one.quote_busy = quotes_.read(one.row, id);
  // No operation was free, and no answer will bring us back here: once more, by way of the queue of
  // those that wait.
  if (!one.book_busy && !one.quote_busy && !(one.book_known && one.quote_known)) {
    one.state = State::kUnnamed;
    wait(id);
  }
}

void HomeWriter::learned(std::uint32_t id) noexcept {
  Instrument& one = instruments_[id];
  if (one.state != State::kLearning) return;
  if (!one.book_known || !one.quote_known) return learn(id);
  one.state = State::kReady;
  push_dirty(id);
}

void HomeWriter::push_dirty(std::uint32_t id) noexcept {
  if (instruments_[id].dirty) return;
  instruments_[id].dirty = true;
  dirty_.push(id);
}

void HomeWriter::mark(std::uint32_t id) noexcept {
  // Once it is ready all of it is written.
  if (id < instruments_.size() && instruments_[id].state == State::kReady) push_dirty(id);
}

// The next that can be published now; those whose last publication is under way wait behind.
std::uint32_t HomeWriter::next_dirty() noexcept {
  for (std::size_t tried = dirty_.size; tried != 0; --tried) {
    const std::uint32_t id = dirty_.pop();
    Instrument& one = instruments_[id];
    if (one.state == State::kReady && one.book_busy) {
      dirty_.push(id);
      continue;
    }
    one.dirty = false;
    if (one.state == State::kReady) return id;
  }
  return kNobody;
}

void HomeWriter::publish(std::uint32_t id) noexcept {
  Instrument& one = instruments_[id];
  const wire::BookImage& image = image_;
  book_.symbol = one.symbol;
  book_.written_realtime_ns = static_cast<std::uint64_t>(clock::realtime_ns());
  book_.writer = self_.word();
  book_.image = image;
  one.book_busy = books_.publish(options_.venue * layout_.shape().rows + std::size_t{one.row},
                                 one.book, book_, id);
  if (!one.book_busy) return push_dirty(id);  // no room in the queue: a later turn
  wire::VenueQuote quote{};
  quote.trace_id = image.trace_id;
  quote.set(self_, image.states);
  quote.bid = image.bids[0].price;
  quote.bid_shares = image.bids[0].shares;
  quote.ask = image.asks[0].price;
  quote.ask_shares = image.asks[0].shares;
  const wire::VenueQuote& before = one.own;
  if (quote.writer_and_states == before.writer_and_states && quote.bid == before.bid &&
      quote.bid_shares == before.bid_shares && quote.ask == before.ask &&
      quote.ask_shares == before.ask_shares)
    return;
  one.own = quote;
  mark_quote(id);
}

void HomeWriter::mark_quote(std::uint32_t id) noexcept {
  if (instruments_[id].quote_dirty) return;
  instruments_[id].quote_dirty = true;
  quotes_dirty_.push(id);
}

std::uint32_t HomeWriter::alive_venues(const wire::Consolidated& book) const noexcept {
  std::uint32_t alive = 0;
  for (std::size_t venue = 0; venue < wire::kVenuesMax; ++venue)
    if (lease_.alive(book.venues[venue].writer())) alive |= 1u << venue;
  return alive;
}

void HomeWriter::publish_quotes() noexcept {
  for (std::size_t tried = quotes_dirty_.size; tried != 0; --tried) {
    if (quotes_.under_way() >= kOperations) return;
    const std::uint32_t id = quotes_dirty_.pop();
    Instrument& one = instruments_[id];
    if (one.state == State::kReady && one.quote_busy) {
      quotes_dirty_.push(id);
      continue;
    }
    one.quote_dirty = false;
    if (one.state != State::kReady) continue;
    wire::Consolidated merged = known_quotes_[id];
    merged.symbol = one.symbol;
    merged.written_realtime_ns = static_cast<std::uint64_t>(clock::realtime_ns());
    merged.venues[options_.venue] = one.own;
    consolidate(merged, alive_venues(merged));
    one.quote_busy = quotes_.publish(one.row, one.quote, merged, id);
    if (one.quote_busy)
      known_quotes_[id] = merged;
    else
      mark_quote(id);
  }
}

// ---------------------------------------------------------------------------------------- answers

void HomeWriter::take_books() noexcept {
  link::SharedResult result;
  wire::VenueBook value;
  while (books_.take(result, value)) {
    const auto id = static_cast<std::uint32_t>(result.cookie);
    Instrument& one = instruments_[id];
    one.book_busy = false;
    using enum link::SharedStatus;
    if (result.status == kFailed) continue;  // the connection ends
    const bool of_this =
        result.record == options_.venue * layout_.shape().rows + std::size_t{one.row};
    // What was under way when the instrument began to be learned.
    if (one.state == State::kLearning && (result.publication || !of_this)) {
      learn(id);
      continue;
    }
    if (!of_this) continue;
    one.book = result.guard;
    if (result.publication && result.status == kOk) {
      counters_.books.add();
      continue;
    }
    if (result.publication) {
      counters_.books_lost.add();
      if (one.state == State::kReady) wait(id);  // whose it is has to be asked again
      continue;
    }
    one.book_known = result.status != kTorn;
    learned(id);
  }
}

void HomeWriter::take_quotes() noexcept {
  link::SharedResult result;
  wire::Consolidated value;
  while (quotes_.take(result, value)) {
    const auto id = static_cast<std::uint32_t>(result.cookie);
    Instrument& one = instruments_[id];
    one.quote_busy = false;
    using enum link::SharedStatus;
    if (result.status == kFailed) continue;
    if (one.state == State::kLearning && (result.publication || result.record != one.row)) {
      learn(id);
      continue;
    }
    if (result.record != one.row) continue;
    one.quote = result.guard;
    if (result.publication) {
      if (result.status == kOk) {
        counters_.quotes.add();
        continue;
      }
      counters_.quotes_lost.add();
      // What it is now has to be known before it can be changed.
      one.quote_known = false;
      one.quote_busy = quotes_.read(one.row, id);
      if (!one.quote_busy && one.state == State::kReady) wait(id);
      continue;
    }
    one.quote_known = result.status != kTorn;
    if (result.status == kOk) known_quotes_[id] = value;
    if (result.status == kEmpty) known_quotes_[id] = {};
    if (one.state == State::kLearning) {
      one.own = {};  // written in any case
      learned(id);
    } else if (one.state == State::kReady) {
      // Another one writes this venue's part: it may have claimed the instrument meanwhile.
      const wire::Writer theirs = known_quotes_[id].venues[options_.venue].writer();
      if (!one.quote_known || (theirs.somebody && theirs != self_))
        wait(id);
      else
        mark_quote(id);
    }
  }
}

}  // namespace tickpath::home
