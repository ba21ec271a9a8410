// Any bytes as a FIX stream: framed, scanned, checked against the dictionary and decoded as every
// message type, in both versions. What is decoded and encoded again must decode to the same, and
// what we encode must conform.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/fix/codec.hpp"
#include "common/fix/dictionary.hpp"

namespace {

using namespace tickpath::fix;

constexpr char kNow[] = "20261121-10:11:12.345";

// The message, encoded in a version and decoded again. Text and symbols may hold any byte, which
// the dictionary does not mind.
template <class Message>
class Again {
 public:
  Again(Version version, const Message& message) {
    const Encoder encoder("A", "B", version);
    const std::size_t length = encoder.encode(buffer_, message, 1, kNow);
    if (length > sizeof(buffer_)) std::abort();
    Fields fields;
    if (!fields.scan({buffer_, length}) || !decode(fields, message_)) std::abort();
    Violation violation;
    if (!conforms(version, {buffer_, length}, violation)) std::abort();
  }
  const Message* operator->() const { return &message_; }

 private:
  char buffer_[kMessageBytesMax];  // what the message's views point into
  Message message_;
};

void check_again(Version version, const NewOrderSingle& order) {
  const Again<NewOrderSingle> again(version, order);
  if (again->cl_ord_id != order.cl_ord_id || again->order_qty != order.order_qty ||
      again->side != order.side || again->type != order.type || !(again->symbol == order.symbol))
    std::abort();
  if (order.type == OrderType::kLimit && again->price != order.price) std::abort();
}

void check_again(Version version, const ExecutionReport& report) {
  // A fill of nothing has no LastQty, and an unknown reason no place in the dictionary; the answer
  // to a status request may have no side, ours has.
  const bool fill =
      report.exec_type == ExecType::kFill || report.exec_type == ExecType::kPartialFill;
  const bool side = report.side == tickpath::Side::kBuy || report.side == tickpath::Side::kSell;
  const unsigned reason_max = version == Version::k44 ? 15 : 8;
  if ((fill && !report.status && report.last_shares == 0) || (report.status && !side) ||
      static_cast<unsigned>(report.reject_reason) > reason_max)
    return;
  if (report.trade_change != TradeChange::kNone) return;  // read, and sent for fault runs alone
  if (report.exec_type == ExecType::kTriggered) return;   // sent as Restated
  const Again<ExecutionReport> again(version, report);
  // FIX 4.2 has 39=5 in the report of a replacement, whatever the order's state.
  const bool has_state = version != Version::k42 || report.exec_type != ExecType::kReplaced;
  if (again->cl_ord_id != report.cl_ord_id || again->status != report.status ||
      again->exec_type != report.exec_type ||
      (has_state && again->ord_status != report.ord_status) ||
      again->leaves_qty != report.leaves_qty || again->cum_qty != report.cum_qty ||
      again->last_price != report.last_price ||
      again->last_price_hundredths != report.last_price_hundredths)
    std::abort();
}

void check_again(const OrderStatusRequest& request) {
  const Again<OrderStatusRequest> again(Version::k44, request);
  if (again->cl_ord_id != request.cl_ord_id || again->request_id != request.request_id)
    std::abort();
}

void check_again(const OrderMassCancelRequest& request) {
  const Again<OrderMassCancelRequest> again(Version::k44, request);
  if (again->type != request.type || again->side != request.side ||
      !(again->symbol == request.symbol))
    std::abort();
}

void check_again(const OrderMassCancelReport& report) {
  if (report.reason != MassCancelRejectReason::kNone && static_cast<unsigned>(report.reason) > 6)
    return;
  const Again<OrderMassCancelReport> again(Version::k44, report);
  if (again->type != report.type || again->reason != report.reason ||
      again->affected != report.affected)
    std::abort();
}

// What the venue takes, either version can say. What it refuses may be of one version alone, as
// sides A to G are of FIX 4.4, and is decoded whether or not the bytes conform.
bool can_say(Version version, const NewOrderSingle& order, const Fields& fields,
             std::string_view message) {
  const bool side = order.side == tickpath::Side::kBuy || order.side == tickpath::Side::kSell;
  const bool type = order.type <= OrderType::kStopLimit || order.type == OrderType::kPegged;
  if (side && type && order.unsupported.empty()) return true;
  Violation violation;  // looked for in messages of our types alone
  return version == fields.version() && fields.msg_type() == 'D' &&
         conforms(version, message, violation);
}

template <class Message>
void try_again(const Fields& fields) {
  Message message;
  if (decode(fields, message)) check_again(message);
}

template <class Message>
void try_decode(const Fields& fields) {
  Message message;
  (void)decode(fields, message);
}

void take(std::string_view message) {
  Violation violation;
  for (const Version version : {Version::k42, Version::k44})
    if (!conforms(version, message, violation) && violation.tag > 999'999'999) std::abort();
  Fields fields;
  if (!fields.scan(message)) return;
  NewOrderSingle order;
  ExecutionReport report;
  for (const Version version : {Version::k42, Version::k44}) {
    if (decode(fields, order) && can_say(version, order, fields, message))
      check_again(version, order);
    // Only in its own version: FIX 4.4 tells a full fill by LeavesQty, FIX 4.2 by ExecType.
    if (decode(fields, report) && version == fields.version()) check_again(version, report);
  }
  try_again<OrderStatusRequest>(fields);
  try_again<OrderMassCancelRequest>(fields);
  try_again<OrderMassCancelReport>(fields);
  try_decode<OrderCancelRequest>(fields);
  try_decode<OrderCancelReplaceRequest>(fields);
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

// Mutation by fields, which bytes alone seldom hit: another value, a field more, less, or
// elsewhere.
class FieldMutator {
 public:
  FieldMutator(std::string_view bytes, unsigned seed) : random_(seed) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = std::min(bytes.find(kSoh, at), bytes.size());
      fields_.emplace_back(bytes.substr(at, end - at));
      at = end + 1;
    }
  }

  std::string mutated() {
    for (std::size_t changes = 1 + below(4); changes != 0; --changes) change();
    std::string bytes;
    for (const std::string& field : fields_) bytes += field + kSoh;
    return bytes;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::string value() {
    static constexpr std::string_view kValues[] = {
        "Y",  "N",          "NONE", "-1",  "99", "4294967296", "100",     "100.5", ".5",
        "5.", "1.23456789", "R",    "R 6", kNow, "FIX.4.2",    "FIX.4.4", "AAPL"};
    static constexpr std::string_view kCharacters = "0123456789ABCDEFGHIJKLMPqrj";
    if (below(3) != 0) return {kCharacters[below(kCharacters.size())]};
    if (below(2) != 0) return std::to_string(below(20));
    return std::string(kValues[below(std::size(kValues))]);
  }
  std::string tag() {
    static constexpr unsigned kTags[] = {1,   6,   8,   11,  14,  17,  18,  19,  20,  21,  31,  32,
                                         35,  37,  38,  39,  40,  41,  44,  54,  55,  58,  59,  60,
                                         99,  102, 103, 110, 111, 116, 150, 151, 152, 378, 434, 448,
                                         530, 531, 532, 533, 584, 585, 790, 911, 912};
    return std::to_string(kTags[below(std::size(kTags))]) + "=";
  }
  void change() {
    if (fields_.empty()) return fields_.push_back(tag() + value());
    std::string& field = fields_[below(fields_.size())];
    switch (below(5)) {
      case 0:
        return fields_.push_back(tag() + value());
      case 1:
        return std::swap(field, fields_[below(fields_.size())]);
      case 2:
        return void(fields_.erase(fields_.begin() + (&field - fields_.data())));
      default:
        field = field.substr(0, field.find('=')) + "=" + value();
    }
  }

  std::minstd_rand random_;
  std::vector<std::string> fields_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max);
  FieldMutator mutator({reinterpret_cast<const char*>(data), size}, seed);
  const std::string bytes = mutator.mutated();
  if (bytes.size() > max) return LLVMFuzzerMutate(data, size, max);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  with_checksum(bytes);
  take(bytes);
  while (!bytes.empty()) {
    const Frame next = frame(bytes, 4096);
    if (next.status == FrameStatus::kIncomplete) break;
    if (next.status == FrameStatus::kTooLong) {  // read past; all of it need not be there
      if (next.length <= 4096) std::abort();
      bytes.remove_prefix(std::min(next.length, bytes.size()));
      continue;
    }
    if (next.length == 0 || next.length > bytes.size()) std::abort();
    if (next.status == FrameStatus::kMessage) take(bytes.substr(0, next.length));
    bytes.remove_prefix(next.length);
  }
  return 0;
}
