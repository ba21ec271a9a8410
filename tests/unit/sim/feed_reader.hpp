// A subscriber of the published feed, as strict as a regulator: it keeps a book by the messages
// alone, and counts what no venue would send.
#pragma once

#include <set>

#include <gtest/gtest.h>

#include "common/book/book.hpp"
#include "recorded.hpp"
#include "sim/market/published_feed.hpp"

namespace tickpath::sim {

class FeedReader final : public FeedOutlet {
 public:
  void publish(std::span<const std::byte> message) noexcept override {
    messages.emplace_back(message.begin(), message.end());
    if (itch::decode(message, Handler{*this}) != itch::DecodeStatus::kOk) ++undecodable;
  }
  // Executions of unknown orders, of more shares than are there, orders twice, and the like.
  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < book::kStatusCount; ++i)
      sum += book.count(static_cast<book::Status>(i));
    return sum;
  }
  // Types of what was published, from the `first` message on.
  std::string types(std::size_t first = 0) const {
    std::string text;
    for (std::size_t i = first; i < messages.size(); ++i)
      text += static_cast<char>(messages[i].front());
    return text;
  }
  template <class Message>
  Message as(std::size_t at) const {
    EXPECT_EQ(static_cast<char>(messages.at(at).front()), Message::kType);
    return itch::decode_as<Message>(messages.at(at).data());
  }

  std::vector<Bytes> messages;
  book::BookSet book{{.orders_max = 1u << 14, .levels_max = 4096}};
  std::uint64_t undecodable = 0;
  std::uint64_t repeated_matches = 0;  // of our own numbers
  std::uint64_t wrong_symbols = 0;

 private:
  struct Handler {
    FeedReader& reader;
    template <class Add>
    void add(const Add& m) const {
      const char* symbol = m.header.stock_locate == 1 ? "ZAAA" : "ZAAB";
      if (m.stock != itch::Stock(symbol)) ++reader.wrong_symbols;
      (void)reader.book.add(m.header.stock_locate, m.order_reference_number,
                            itch::side_of(m.buy_sell_indicator), m.shares, m.price);
    }
    void match(std::uint64_t number) const {
      if ((number & kOwnNumbers) != 0 && !reader.matches_.insert(number).second)
        ++reader.repeated_matches;
    }
    void operator()(const itch::AddOrder& m) const { add(m); }
    void operator()(const itch::AddOrderMpid& m) const { add(m); }
    void operator()(const itch::OrderExecuted& m) const {
      match(m.match_number);
      (void)reader.book.execute(m.order_reference_number, m.executed_shares);
    }
    void operator()(const itch::OrderExecutedWithPrice& m) const {
      match(m.match_number);
      (void)reader.book.execute(m.order_reference_number, m.executed_shares);
    }
    void operator()(const itch::OrderCancel& m) const {
      (void)reader.book.reduce(m.order_reference_number, m.cancelled_shares);
    }
    void operator()(const itch::OrderDelete& m) const {
      (void)reader.book.remove(m.order_reference_number);
    }
    void operator()(const itch::OrderReplace& m) const {
      (void)reader.book.replace(m.original_order_reference_number, m.new_order_reference_number,
                                m.shares, m.price);
    }
    // A reader of several days in one session starts each with empty books.
    void operator()(const itch::SystemEvent& m) const {
      if (m.event_code == itch::SystemEvent::kStartOfMessages) reader.book.clear();
    }
    void operator()(const auto&) const {}
  };

  std::set<std::uint64_t> matches_;
};

}  // namespace tickpath::sim
