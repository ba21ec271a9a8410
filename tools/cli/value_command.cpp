// `tickpath value`: values that strategies share, in an mdh's memory, by READ, WRITE and
// COMPARE_SWAP.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/format.hpp"
#include "common/clock/clock.hpp"
#include "common/control/json.hpp"
#include "common/stores/values/value_client.hpp"
#include "common/wire/hello.hpp"
#include "tools/cli/command_main.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/mdh_connection.hpp"

namespace tickpath::cli {
namespace {

using control::Json;
using values::ValueOperation;
using values::ValueRequest;
using values::ValueState;
using values::ValueStatus;

struct ValueArguments {
  std::string key;
  std::string value;
  std::uint64_t version = ValueRequest::kAnyVersion;
  bool json = false;
  MdhArguments from;
};

// A device, and a connection to shared values on it.
class Shared {
 public:
  Shared(const MdhArguments& from, bool writer)
      : mdh_(from, wire::Service::kValues, writer ? 1 : 0),
        client_(*mdh_.device, "tickpath.value") {
    if (!client_.attach(*mdh_.connection, writer)) fail(ValueStatus::kFailed);
  }
  ~Shared() { client_.detach(); }
  values::ValueClient& client() noexcept { return client_; }
  [[noreturn]] void fail(ValueStatus status) const {
    throw Error("shared values: " + std::string(client_.wrong() != nullptr
                                                    ? client_.wrong()
                                                    : values::to_string(status)));
  }

 private:
  MdhConnection mdh_;
  values::ValueClient client_;
};

bool is_text(std::span<const std::byte> bytes) {
  return std::ranges::all_of(
      bytes, [](std::byte each) { return each >= std::byte{0x20} && each < std::byte{0x7f}; });
}

// As it stands; what is no printable ASCII as hexadecimal digits.
std::string text_of(std::span<const std::byte> bytes) {
  if (is_text(bytes)) return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  std::string text = "0x";
  for (const std::byte each : bytes) text += formatted("%02x", std::to_integer<unsigned>(each));
  return text;
}

void print(const std::string& key, const ValueState& state, bool json) {
  if (json) {
    Json row = {{"key", key},
                {"version", state.version},
                {"written_realtime_ns", state.written_realtime_ns}};
    row[is_text(state.bytes) ? "value" : "value_hex"] =
        is_text(state.bytes) ? text_of(state.bytes) : text_of(state.bytes).substr(2);
    std::puts(control::text_of(row, -1).c_str());
    return;
  }
  const auto age_ns =
      static_cast<double>(clock::realtime_ns()) - static_cast<double>(state.written_realtime_ns);
  std::printf("%-32s version %-6llu %10.1f s ago  %s\n", key.c_str(),
              static_cast<unsigned long long>(state.version), std::max(age_ns, 0.0) / 1e9,
              text_of(state.bytes).c_str());
}

void run_operation(const ValueArguments& arguments, ValueOperation operation) {
  if (!values::is_key(arguments.key))
    throw Error("\"" + arguments.key + "\": a key has 1 to " +
                std::to_string(wire::kValueKeyBytes) + " bytes");
  if (arguments.value.size() > wire::kValueBytes)
    throw Error("the value has " + std::to_string(arguments.value.size()) +
                " bytes; there is room for " + std::to_string(wire::kValueBytes));
  Shared shared(arguments.from, operation != ValueOperation::kGet);
  ValueRequest request;
  request.operation = operation;
  request.key = arguments.key;
  request.bytes = std::as_bytes(std::span(arguments.value));
  request.expected = arguments.version;
  const ValueStatus status = shared.client().run(request, MdhConnection::kTimeoutMs);
  const ValueState& now = shared.client().current();
  if (status == ValueStatus::kConflict)
    throw Error(arguments.key + " is " +
                (now.version == 0 ? "absent" : "at version " + std::to_string(now.version)) +
                "; nothing was changed");
  if (status == ValueStatus::kAbsent) throw Error(arguments.key + ": there is no such key");
  if (status != ValueStatus::kOk) shared.fail(status);
  if (operation != ValueOperation::kRemove) print(arguments.key, now, arguments.json);
}

void run_list(const ValueArguments& arguments) {
  Shared shared(arguments.from, false);
  struct Found {
    wire::SharedValue value;
    std::uint64_t version;
  };
  std::vector<Found> rows;
  const ValueStatus status = shared.client().for_each(
      MdhConnection::kTimeoutMs, [&](const wire::SharedValue& value, std::uint64_t version) {
        rows.push_back({value, version});
      });
  if (status != ValueStatus::kOk) shared.fail(status);
  std::ranges::sort(rows, {}, [](const Found& row) { return row.value.key_text(); });
  for (const Found& row : rows) {
    const std::size_t length = std::min<std::size_t>(row.value.length, wire::kValueBytes);
    print(std::string(row.value.key_text()),
          {row.version, row.value.written_realtime_ns, std::span(row.value.bytes).first(length)},
          arguments.json);
  }
}

}  // namespace

void add_value_command(CLI::App& app) {
  auto* command = add_other_command(app, "value");
  command->require_subcommand(1);
  auto arguments = std::make_shared<ValueArguments>();
  const auto add = [&](const char* name, const char* what, bool with_key) {
    auto* one = command->add_subcommand(name, what);
    if (with_key) one->add_option("key", arguments->key, "Key, 1 to 32 bytes")->required();
    one->add_flag("--json", arguments->json, "For programs, a line a value");
    add_mdh_options(*one, arguments->from);
    return one;
  };
  const auto with_value = [&](CLI::App* one) {
    one->add_option("value", arguments->value, "Up to 400 bytes")->required();
    return one;
  };
  add("get", "What stands at a key, with its version", true)->callback([arguments] {
    run_operation(*arguments, ValueOperation::kGet);
  });
  with_value(add("put", "Puts a value there, whatever it was", true))->callback([arguments] {
    run_operation(*arguments, ValueOperation::kPut);
  });
  auto* swap = with_value(
      add("swap", "Puts a value there if it is still at --version; nothing is done else", true));
  swap->add_option("--version", arguments->version, "That `get` has shown; 0: there is none yet")
      ->required();
  swap->callback([arguments] { run_operation(*arguments, ValueOperation::kSwap); });
  auto* remove = add("remove", "Removes a key", true);
  remove->add_option("--version", arguments->version, "Only if it is still at this one");
  remove->callback([arguments] { run_operation(*arguments, ValueOperation::kRemove); });
  add("list", "All of them", false)->callback([arguments] { run_list(*arguments); });
}

}  // namespace tickpath::cli
