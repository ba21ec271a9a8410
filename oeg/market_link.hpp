// The market data that orders are checked against, from mdh into the gateway's instruments.
// Datapath thread, where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/counter.hpp"
#include "common/log/hot_log.hpp"
#include "common/market/market_reader.hpp"
#include "common/wire/wire.hpp"
#include "oeg/instruments.hpp"

namespace tickpath::oeg {

class MarketLink {
 public:
  // Control thread. Throws rdma::SetupError.
  MarketLink(rdma::Device& device, rdma::CompletionChannel* channel,
             const market::MarketReaderOptions& options, Instruments& instruments,
             log::HotLog& hot_log)
      : reader_(device, channel, options), instruments_(instruments), hot_log_(hot_log) {}

  market::MarketReader& reader() noexcept { return reader_; }
  // Any thread.
  const Counter& known() const noexcept { return known_; }

  // Takes updates up to a bound; returns how many.
  std::size_t poll(std::uint64_t now_ns) noexcept;
  // Takes all that is there, up to a larger bound. True: there was any.
  bool drain(std::uint64_t now_ns) noexcept;
  // A few snapshots a turn, after mdh came back to life.
  void refresh() noexcept;

  // ---- handlers of the reader
  void on_update(const wire::BookUpdate& update) noexcept { instruments_.update(update); }
  void on_image(const wire::BookImage& image) noexcept { instruments_.update(image); }
  void on_overrun(std::uint64_t lost) noexcept;
  void on_directory(const wire::DirectoryEntry& entry) noexcept;
  void on_mdh(bool alive) noexcept;

 private:
  market::MarketReader reader_;
  Instruments& instruments_;
  log::HotLog& hot_log_;
  Counter known_;                   // instruments
  std::uint32_t refresh_next_ = 0;  // the instrument whose snapshot is read again next
};

}  // namespace tickpath::oeg
