#include "mdh/datapath.hpp"

#include <limits>

#include "mdh/notes.hpp"

namespace tickpath::mdh {
namespace {

FeedOptions feed_options(const MdhConfig& config) {
  FeedOptions options;
  options.instruments_max = config.instruments_max;
  options.book.orders_max = config.orders_max;
  options.book.levels_max = config.levels_max;
  options.silence_timeout_ns = static_cast<std::uint64_t>(config.feed_silence_timeout_ns);
  return options;
}

net::ReceiverOptions receiver_options(const MdhConfig& config) {
  net::ReceiverOptions options;
  options.group = net::parse_endpoint(config::format_address(config.feed_group));
  options.interface = config.feed_interface;
  options.receive_buffer_bytes = static_cast<int>(config.feed_receive_buffer_bytes);
  return options;
}

}  // namespace

MdhDatapath::MdhDatapath(const MdhConfig& config, BookPublisher& publisher,
                         DirectoryTable& directory, rdma::CompletionChannel* channel,
                         trace::TraceWriter& trace, log::HotLog& log)
    : publisher_(publisher),
      channel_(channel),
      log_(log),
      sink_(publisher, directory),
      feed_(feed_options(config), sink_, trace, log),
      receiver_(receiver_options(config)),
      batch_(config.feed_batch, config.feed_datagram_bytes),
      batch_size_(config.feed_batch),
      datagram_bytes_(config.feed_datagram_bytes),
      image_delay_(clock::TickConverter().from_ns(
          static_cast<std::uint64_t>(config.publish_image_delay_ns))) {
  wake_storage_ = {receiver_.descriptor(), channel_ ? channel_->file_descriptor() : -1};
  wake_ = std::span<const int>(wake_storage_).first(channel_ ? 2 : 1);
}

bool MdhDatapath::turn() noexcept {
  TscTicks now;
  const std::size_t packets = receive(now);
  const bool drained = packets < batch_size_;
  flush_images(drained, now);
  publisher_.turn();
  feed_.on_time(now);
  // Relaxed: the flag alone matters; what the control thread did before is not read here.
  if (close_requested_.load(std::memory_order_relaxed) && drained) [[unlikely]]
    finish();
  return packets > 0;
}

std::size_t MdhDatapath::receive(TscTicks& now) noexcept {
  net::IoStatus status = net::IoStatus::kOk;
  const std::size_t packets = batch_.receive(receiver_, status);
  now = tsc_now();
  if (packets == 0) {
    if (status == net::IoStatus::kFailed) [[unlikely]] {
      socket_.receive_errors.add();
      log_.note(Note::kReceiveFailed, static_cast<std::uint64_t>(receiver_.last_errno()));
    }
    return 0;
  }
  for (std::size_t i = 0; i < packets; ++i) {
    if (batch_.truncated(i)) [[unlikely]]
      feed_.on_truncated(datagram_bytes_);
    else
      feed_.collect(batch_[i].bytes, {batch_[i].kernel_realtime_ns, now});
  }
  feed_.process();
  socket_.kernel_drops.set(receiver_.dropped());
  return packets;
}

// Updates come first: while packets wait, images do too, unless they have waited long enough.
void MdhDatapath::flush_images(bool drained, TscTicks now) noexcept {
  if (!drained && now - last_flush_ < image_delay_) return;
  last_flush_ = now;
  publisher_.flush(
      [this](std::uint32_t id, wire::BookImage& image) noexcept { feed_.fill_image(id, image); });
}

void MdhDatapath::finish() noexcept {
  if (!closing_) {
    // Every image, whatever one flush is limited to.
    for (std::uint32_t i = 0; i <= feed_.instruments().size(); ++i) flush_images(true, tsc_now());
    publisher_.close();
    closing_ = true;
  }
  // Release, paired with the acquire in closed(): the control thread then reads final counters.
  if (publisher_.closed()) closed_.store(true, std::memory_order_release);
}

bool MdhDatapath::arm() noexcept {
  publisher_.arm();
  const bool worked = turn();
  return !worked && !publisher_.busy();
}

void MdhDatapath::woken() noexcept {
  if (channel_ != nullptr) channel_->acknowledge();
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
