#include "mdh/datapath.hpp"

#include "common/control/feed_endpoints.hpp"
#include "mdh/notes.hpp"

namespace tickpath::mdh {
namespace {

FeedOptions feed_options(const MdhConfig& config) {
  FeedOptions options;
  options.protocol = config.feed.protocol;
  options.instruments_max = config.instruments_max;
  options.shard = control::shard_of(config.shard);
  options.book.orders_max = config.orders_max;
  options.book.levels_max = config.levels_max;
  options.silence_timeout_ns = static_cast<std::uint64_t>(config.feed_silence_timeout_ns);
  return options;
}

// A sender is silent for a second at most (heartbeats of MoldUDP64 and IEX-TP), and a beat may be
// lost.
constexpr std::uint64_t kSenderSilenceNs = 2'500'000'000;

net::Endpoint source_of(const MdhConfig& config, Line line) {
  return line == Line::kA ? control::feed_source(config.feed.source)
                          : control::feed_source_b(config.feed.source, config.feed.source_b);
}

net::ReceiverOptions receiver_options(const MdhConfig& config, Line line) {
  net::ReceiverOptions options;
  const bool a = line == Line::kA;
  options.group =
      net::parse_endpoint(a ? config::format_address(config.feed.group) : config.feed.group_b);
  options.interface =
      a || config.feed.interface_b.empty() ? config.feed.interface : config.feed.interface_b;
  options.receive_buffer_bytes = static_cast<int>(config.feed_receive_buffer_bytes);
  options.source_address = source_of(config, line).address;
  return options;
}

ArbiterOptions arbiter_options(const MdhConfig& config) {
  ArbiterOptions options = config.arbiter;
  options.restarts = control::format_of(config.feed).transport == feeds::Transport::kIexTp &&
                     !config.feed.source.empty();
  return options;
}

std::unique_ptr<RetransmissionClient> retransmission_client(const MdhConfig& config) {
  if (config.retransmission_server.empty()) return nullptr;
  return std::make_unique<RetransmissionClient>(net::parse_endpoint(config.retransmission_server),
                                                config.arbiter.datagram_bytes);
}

// A snapshot holds at most every order that there is room for, and six messages an instrument.
std::size_t snapshot_bytes_max(const MdhConfig& config) {
  constexpr std::size_t kLongest = itch::AddOrderMpid::kLength + 2;
  return kLongest * (config.orders_max + 6ull * book::kLocatesMax);
}

std::unique_ptr<SnapshotClient> snapshot_client(const MdhConfig& config) {
  // The key stands in every default configuration, and has no effect where there are none.
  if (config.snapshot_server.empty() || !control::format_of(config.feed).recoverable)
    return nullptr;
  SnapshotClientOptions options;
  options.server = net::parse_endpoint(config.snapshot_server);
  options.username = config.snapshot_username;
  options.password = control::read_snapshot_password(config.snapshot_password_file);
  options.timeout_ns = static_cast<std::uint64_t>(config.snapshot_timeout_ns);
  options.bytes_max = snapshot_bytes_max(config);
  return std::make_unique<SnapshotClient>(options);
}

}  // namespace

void FabricSink::begin_numbering(std::uint64_t numbering, std::uint64_t sequence) noexcept {
  numbering_ = numbering;
  if (prices_) prices_->begin_session();
  set_state(wire::FeedState::kUnknown);
  publisher_.set_program_place(sequence - 1);
  publisher_.publish(wire::numbering_update(numbering, sequence));
}

MdhDatapath::MdhDatapath(const MdhConfig& config, BookPublisher& publisher,
                         DirectoryTable& directory, prices::PriceStore* store,
                         rdma::CompletionChannel* channel, trace::TraceWriter& trace,
                         log::HotLog& log, home::HomeWriter* home)
    : publisher_(publisher),
      home_(home),
      channel_(channel),
      log_(log),
      sink_(publisher, directory, store, home),
      feed_(feed_options(config), sink_, trace, log),
      retransmission_(retransmission_client(config)),
      snapshots_(snapshot_client(config)),
      arbiter_(arbiter_options(config), feed_, retransmission_.get(), snapshots_.get(), log),
      batch_size_(config.feed_batch),
      datagram_bytes_(config.arbiter.datagram_bytes),
      image_delay_(clock::TickConverter().from_ns(
          static_cast<std::uint64_t>(config.publish.image_delay_ns))) {
  const auto open_line = [&](Line line) {
    lines_.push_back(std::make_unique<FeedLine>(
        net::UdpMulticastReceiver(receiver_options(config, line)),
        net::ReceiveBatch(config.feed_batch, config.arbiter.datagram_bytes),
        source_of(config, line), clock::TickConverter().from_ns(kSenderSilenceNs)));
  };
  open_line(Line::kA);
  if (!config.feed.group_b.empty()) open_line(Line::kB);
  std::size_t count = 0;
  for (const auto& line : lines_) wake_storage_[count++] = line->receiver.descriptor();
  if (retransmission_) wake_storage_[count++] = retransmission_->descriptor();
  if (channel_ != nullptr) wake_storage_[count++] = channel_->file_descriptor();
  wake_ = std::span<const int>(wake_storage_).first(count);
}

bool MdhDatapath::turn() noexcept {
  TscTicks now;
  bool drained = true;
  const std::size_t packets = receive(now, drained);
  flush_images(drained, now);
  publisher_.turn();
  if (home_ != nullptr) [[unlikely]]
    home_->turn(
        static_cast<std::uint64_t>(clock::monotonic_ns()),
        [this](std::uint32_t id, wire::BookImage& image) noexcept { feed_.fill_image(id, image); });
  feed_.on_time(now);
  // Relaxed: the flag alone matters; what the control thread did before is not read here.
  if (close_requested_.load(std::memory_order_relaxed) && drained) [[unlikely]]
    finish();
  return packets > 0;
}

std::size_t MdhDatapath::receive(TscTicks& now, bool& drained) noexcept {
  std::size_t packets = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::size_t got = receive_line(static_cast<Line>(i), now);
    drained &= got < batch_size_;
    packets += got;
  }
  now = tsc_now();
  bool contested = arbiter_.contested(now);
  for (const auto& line : lines_) contested |= line->source.contested(now);
  feed_.set_contested(contested);
  if (retransmission_) packets += retransmission_->poll(arbiter_, now);
  if (packets != 0 || arbiter_.waiting()) arbiter_.process(now);
  return packets;
}

std::size_t MdhDatapath::receive_line(Line line, TscTicks& now) noexcept {
  FeedLine& from = *lines_[static_cast<std::size_t>(line)];
  net::IoStatus status = net::IoStatus::kOk;
  const std::size_t packets = from.batch.receive(from.receiver, status);
  now = tsc_now();
  if (packets == 0) {
    if (status == net::IoStatus::kFailed) [[unlikely]] {
      socket_.receive_errors.add();
      log_.note(Note::kReceiveFailed, static_cast<std::uint64_t>(from.receiver.last_errno()));
    }
    return 0;
  }
  for (std::size_t i = 0; i < packets; ++i) {
    if (!from.source.takes(from.batch.sender(i), now)) [[unlikely]]
      refuse(from.batch.sender(i));
    else if (from.batch.truncated(i)) [[unlikely]]
      feed_.on_truncated(datagram_bytes_);
    else
      arbiter_.collect(line, from.batch[i].bytes, {from.batch[i].kernel_realtime_ns, now});
  }
  std::uint64_t dropped = 0;
  for (const auto& each : lines_) dropped += each->receiver.dropped();
  socket_.kernel_drops.set(dropped);
  return packets;
}

void MdhDatapath::refuse(std::uint64_t sender) noexcept {
  const net::Endpoint from = net::sender_of(sender);
  log_.note(Note::kStranger, from.address, from.port);
}

std::uint64_t MdhDatapath::strangers() const noexcept {
  std::uint64_t count = 0;
  for (const auto& line : lines_) count += line->source.strangers().get();
  return count;
}

// Updates come first: while packets wait, images do too, unless they have waited long enough.
void MdhDatapath::flush_images(bool drained, TscTicks now) noexcept {
  if (!drained && now - last_flush_ < image_delay_) return;
  last_flush_ = now;
  publisher_.flush(
      [this](std::uint32_t id, wire::BookImage& image) noexcept { feed_.fill_image(id, image); });
  sink_.store_prices();
}

void MdhDatapath::finish() noexcept {
  if (!closing_) {
    arbiter_.flush();
    // Every image, whatever one flush is limited to.
    for (std::uint32_t i = 0; i <= feed_.instruments().size(); ++i) flush_images(true, tsc_now());
    publisher_.close();
    closing_ = true;
  }
  // Release, paired with the acquire in closed(): the control thread then reads final counters.
  if (publisher_.closed()) closed_.store(true, std::memory_order_release);
}

// What is waited for has a time limit, which no descriptor tells of.
bool MdhDatapath::may_sleep() noexcept {
  return !publisher_.busy() && !arbiter_.waiting() && (home_ == nullptr || !home_->busy());
}

void MdhDatapath::woken() noexcept {
  if (channel_ != nullptr) channel_->acknowledge();
  if (retransmission_) retransmission_->look_once();
}

void MdhDatapath::close() noexcept {
  // Relaxed: see turn().
  close_requested_.store(true, std::memory_order_relaxed);
}

bool MdhDatapath::closed() const noexcept {
  // Pairs with finish().
  return closed_.load(std::memory_order_acquire);
}

}  // namespace tickpath::mdh
