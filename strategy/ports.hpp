// What the engine needs of the world; the fabric implements it in the program, tests by hand.
#pragma once

#include <cstdint>

#include "common/wire/book_image.hpp"
#include "common/wire/order_messages.hpp"

namespace tickpath::strategy {

// To oeg. Datapath thread.
class OrderPort {
 public:
  // False: no credit left or no connection; nothing was sent.
  [[nodiscard]] virtual bool send(const wire::OrderRequest& request) noexcept = 0;

 protected:
  ~OrderPort() = default;
};

// The latest ten-level images from mdh. Datapath thread.
class ImageSource {
 public:
  // False: none yet, or it was being written all the time.
  [[nodiscard]] virtual bool image(std::uint32_t instrument, wire::BookImage& out) noexcept = 0;

 protected:
  ~ImageSource() = default;
};

}  // namespace tickpath::strategy
