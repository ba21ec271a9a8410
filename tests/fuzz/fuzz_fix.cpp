// Any bytes as a FIX stream: framed, scanned and decoded as every message type. What is decoded and
// encoded again must decode to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "common/fix/codec.hpp"

namespace {

using namespace tickpath::fix;

constexpr char kNow[] = "20261121-10:11:12.345";

void check_again(const NewOrderSingle& order) {
  char buffer[kMessageBytesMax];
  const Encoder encoder("A", "B");
  const std::size_t length = encoder.encode(buffer, order, 1, kNow);
  if (length > sizeof(buffer)) std::abort();
  Fields fields;
  NewOrderSingle again;
  if (!fields.scan({buffer, length}) || !decode(fields, again)) std::abort();
  if (again.cl_ord_id != order.cl_ord_id || again.order_qty != order.order_qty ||
      again.side != order.side || again.type != order.type || !(again.symbol == order.symbol))
    std::abort();
  if (order.type == OrderType::kLimit && again.price != order.price) std::abort();
}

template <class Message>
void try_decode(const Fields& fields) {
  Message message;
  (void)decode(fields, message);
}

void take(std::string_view message) {
  Fields fields;
  if (!fields.scan(message)) return;
  NewOrderSingle order;
  if (decode(fields, order)) check_again(order);
  try_decode<OrderCancelRequest>(fields);
  try_decode<OrderCancelReplaceRequest>(fields);
  try_decode<ExecutionReport>(fields);
  try_decode<OrderCancelReject>(fields);
  try_decode<MessageReject>(fields);
}

// The fuzzer cannot guess checksums: the same bytes with a right one.
void with_checksum(std::string_view bytes) {
  if (bytes.size() < 7) return;
  std::vector<char> copy(bytes.begin(), bytes.end());
  const std::uint8_t sum = checksum({copy.data(), copy.size() - 7});
  char* const trailer = copy.data() + copy.size() - 7;
  const char text[7] = {'1',
                        '0',
                        '=',
                        static_cast<char>('0' + sum / 100),
                        static_cast<char>('0' + sum / 10 % 10),
                        static_cast<char>('0' + sum % 10),
                        kSoh};
  for (int i = 0; i < 7; ++i) trailer[i] = text[i];
  const std::string_view stream(copy.data(), copy.size());
  const Frame framed = frame(stream, 4096);
  if (framed.status == FrameStatus::kMessage) take(stream.substr(0, framed.length));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  with_checksum(bytes);
  take(bytes);
  while (!bytes.empty()) {
    const Frame next = frame(bytes, 4096);
    if (next.status == FrameStatus::kIncomplete) break;
    if (next.length == 0 || next.length > bytes.size()) std::abort();
    if (next.status == FrameStatus::kMessage) take(bytes.substr(0, next.length));
    bytes.remove_prefix(next.length);
  }
  return 0;
}
