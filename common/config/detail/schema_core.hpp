// The part of a schema that knows nothing of the struct's type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/config/values.hpp"

namespace tickpath::config {

// What a cross-field check (Schema::check) reports to.
class Problems {
 public:
  virtual ~Problems() = default;
  // key: the one to blame; its line is looked up.
  virtual void add(std::string_view key, std::string_view what) = 0;
};

namespace detail {

enum class Kind : std::uint8_t {
  kText,
  kPath,
  kInteger,
  kReal,
  kFlag,
  kChoice,
  kDuration,
  kSize,
  kAddress,
  kIntegers,
  kTexts,
  kTables,
  kParameters,
};

using Value = std::variant<std::int64_t, double, bool, std::string, Address,
                           std::vector<std::int64_t>, std::vector<std::string>, Parameters>;

class SchemaCore;

struct Field {
  std::string key;  // dotted: "feed.group"
  Kind kind = Kind::kText;
  std::string unit;
  std::string help;
  bool required = false;
  bool power_of_two = false;  // integers only
  bool list = false;          // paths only: several are allowed, with commas in between
  std::int64_t min = 0;  // integer, duration (ns), size (bytes), each of integers, count of tables
  std::int64_t max = 0;
  double real_min = 0;
  double real_max = 0;
  std::vector<std::pair<std::string, std::int64_t>> choices;  // of a choice; names of an integer

  std::function<void(void* config, const Value&)> set;
  std::function<Value(const void* config)> get;

  // kTables: elements of a std::vector<Element>, described by their own schema.
  std::shared_ptr<const SchemaCore> table;
  std::function<void*(void* config)> append;
  std::function<void(void* config)> clear;
  std::function<std::size_t(const void* config)> size;
  std::function<void*(void* config, std::size_t index)> element;
};

class SchemaCore {
 public:
  Field& add(Field field);
  const std::vector<Field>& fields() const noexcept { return fields_; }
  Field& last() { return fields_.back(); }
  const Field* find(std::string_view key) const noexcept;

  void add_check(std::function<void(const void*, Problems&)> check) {
    checks_.push_back(std::move(check));
  }
  const std::vector<std::function<void(const void*, Problems&)>>& checks() const noexcept {
    return checks_;
  }

  void set_place(std::function<void(void* config, const std::string& place)> place) {
    place_ = std::move(place);
  }
  void tell_place(void* config, const std::string& place) const {
    if (place_) place_(config, place);
  }

  // Takes over another schema, its keys under "prefix." (or as they are, if empty); `member` leads
  // from the outer struct to the inner one.
  void include(const std::string& prefix, const SchemaCore& inner,
               const std::function<void*(void*)>& member);

 private:
  std::vector<Field> fields_;
  std::vector<std::function<void(const void*, Problems&)>> checks_;
  std::function<void(void*, const std::string&)> place_;
};

void read_text(const SchemaCore& schema, void* config, std::string_view text,
               const std::string& name, const std::vector<std::string>& overrides);
void read_file(const SchemaCore& schema, void* config, const std::string& path,
               const std::vector<std::string>& overrides);
std::string print(const SchemaCore& schema, const void* config);
void substitute(const SchemaCore& schema, void* config, const std::string& placeholder,
                const std::string& value);

}  // namespace detail
}  // namespace tickpath::config
