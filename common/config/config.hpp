// Configuration: one plain struct a program, and one table (Schema) beside it.
//
//   struct FeedConfig {
//     config::Address group{"239.255.7.1", 7701};
//     std::int64_t stale_after_ns = 500'000'000;
//     std::uint32_t receive_slots = 4096;
//     WaitMode wait = WaitMode::kAuto;
//   };
//
//   config::Schema<FeedConfig> feed_schema() {
//     config::Schema<FeedConfig> schema;
//     schema.address("feed.group", &FeedConfig::group, "Multicast group of line A");
//     schema.duration("feed.stale_after", &FeedConfig::stale_after_ns, {1'000, 60'000'000'000},
//                     "Silence after which the feed counts as stale");
//     schema.integer("feed.receive_slots", &FeedConfig::receive_slots, {64, 1 << 20}, "packets",
//                    "Packets taken from the kernel at once");
//     schema.choice("datapath.wait", &FeedConfig::wait,
//                   {{"spin", WaitMode::kSpin}, {"auto", WaitMode::kAuto}}, "How to wait");
//     return schema;
//   }
//
//   const FeedConfig config = config::load_file(feed_schema(), "config/demo/mdh.toml");
//
// Defaults are the struct's own initialisers. Unknown keys are errors, with the nearest known key.
// All problems of a file are reported together (ConfigError). Files are TOML 1.0; one may extend
// another (table.hpp). Control threads and tools only.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/check.hpp"
#include "common/base/units.hpp"
#include "common/config/detail/schema_core.hpp"
#include "common/config/values.hpp"

namespace tickpath::config {

// Both ends included.
struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};
struct RealRange {
  double min;
  double max;
};
// The bound of money(): far above any book, and 10,000 times it still fits 64 bits.
inline constexpr double kMoneyMax = 9e14;

// What every function that adds a key returns, to say more about it at once.
class FieldHandle {
 public:
  explicit FieldHandle(detail::Field& field) : field_(&field) {}
  // An integer may also be given by name ("auto"), for a value outside of its range.
  FieldHandle& or_named(std::string name, std::int64_t value) {
    field_->choices.emplace_back(std::move(name), value);
    return *this;
  }
  // The file (or an override) must give it.
  FieldHandle& required() {
    field_->required = true;
    return *this;
  }
  // A path: or a list of them, which the member holds with commas in between.
  FieldHandle& or_list() {
    field_->list = true;
    return *this;
  }
  // An integer: of the values in range only these.
  FieldHandle& power_of_two() {
    field_->power_of_two = true;
    return *this;
  }

 private:
  detail::Field* field_;
};

// The member that a pointer to member (or a callable) leads to.
template <class S, class Member>
using MemberType = std::remove_reference_t<std::invoke_result_t<Member, S&>>;

// Each key takes a member: a pointer to it, or any callable `M& (S&)` for members of members.
// Handles are valid until the next key is added.
template <class S>
class Schema {
 public:
  Schema() : core_(std::make_shared<detail::SchemaCore>()) {}

  // "{run_dir}" in a text or a path is replaced by the run directory (see substitute()).
  template <class Member>
  FieldHandle text(std::string key, Member member, std::string help) {
    return add<std::string>(std::move(key), detail::Kind::kText, member, std::move(help));
  }
  // A file name, relative to the current directory of the program.
  template <class Member>
  FieldHandle path(std::string key, Member member, std::string help) {
    return add<std::string>(std::move(key), detail::Kind::kPath, member, std::move(help));
  }
  // Any integral member type; the range is checked before the value is narrowed.
  template <class Member>
  FieldHandle integer(std::string key, Member member, IntegerRange range, std::string unit,
                      std::string help) {
    return add_number(std::move(key), detail::Kind::kInteger, member, range, std::move(unit),
                      std::move(help));
  }
  template <class Member>
  FieldHandle real(std::string key, Member member, RealRange range, std::string unit,
                   std::string help) {
    FieldHandle handle = add<double>(std::move(key), detail::Kind::kReal, member, std::move(help));
    core_->last().unit = std::move(unit);
    core_->last().real_min = range.min;
    core_->last().real_max = range.max;
    return handle;
  }
  // Money in units of the currency ("1000.50") into an std::int64_t or std::uint64_t of 1/10,000,
  // rounded to the nearest. min, max: in units.
  template <class Member>
  FieldHandle money(std::string key, Member member, RealRange range, std::string help) {
    using M = MemberType<S, Member>;
    static_assert(std::is_integral_v<M> && sizeof(M) == sizeof(std::int64_t));
    const auto scale = static_cast<double>(kPriceScale);
    const auto held = [member](const void* config) -> M& {
      return std::invoke(member, *static_cast<S*>(const_cast<void*>(config)));
    };
    detail::Field field;
    field.key = std::move(key);
    field.kind = detail::Kind::kReal;
    field.unit = "currency";
    field.help = std::move(help);
    field.real_min = range.min;
    field.real_max = range.max;
    field.set = [held, scale](void* config, const detail::Value& value) {
      held(config) = static_cast<M>(std::llround(std::get<double>(value) * scale));
    };
    field.get = [held, scale](const void* config) -> detail::Value {
      return static_cast<double>(held(config)) / scale;
    };
    return FieldHandle(core_->add(std::move(field)));
  }

  template <class Member>
  FieldHandle flag(std::string key, Member member, std::string help) {
    return add<bool>(std::move(key), detail::Kind::kFlag, member, std::move(help));
  }
  // An enumeration, by name.
  template <class Member>
  FieldHandle choice(std::string key, Member member,
                     std::initializer_list<std::pair<std::string, MemberType<S, Member>>> choices,
                     std::string help) {
    FieldHandle handle =
        add_number(std::move(key), detail::Kind::kChoice, member, {0, 0}, {}, std::move(help));
    for (const auto& [name, value] : choices)
      core_->last().choices.emplace_back(name, static_cast<std::int64_t>(value));
    return handle;
  }
  // A duration with its unit ("50us") into an integral member, in nanoseconds; so is the range.
  template <class Member>
  FieldHandle duration(std::string key, Member member, IntegerRange range_ns, std::string help) {
    return add_number(std::move(key), detail::Kind::kDuration, member, range_ns, "duration",
                      std::move(help));
  }
  // A size with its unit ("8MiB") into an integral member, in bytes; so is the range.
  template <class Member>
  FieldHandle size(std::string key, Member member, IntegerRange range_bytes, std::string help) {
    return add_number(std::move(key), detail::Kind::kSize, member, range_bytes, "size",
                      std::move(help));
  }
  template <class Member>
  FieldHandle address(std::string key, Member member, std::string help) {
    return add<Address>(std::move(key), detail::Kind::kAddress, member, std::move(help));
  }
  // std::vector<std::int64_t>; the range holds for each.
  template <class Member>
  FieldHandle integers(std::string key, Member member, IntegerRange range, std::string unit,
                       std::string help) {
    FieldHandle handle = add<std::vector<std::int64_t>>(std::move(key), detail::Kind::kIntegers,
                                                        member, std::move(help));
    core_->last().unit = std::move(unit);
    core_->last().min = range.min;
    core_->last().max = range.max;
    return handle;
  }
  // std::vector<std::string>
  template <class Member>
  FieldHandle texts(std::string key, Member member, std::string help) {
    return add<std::vector<std::string>>(std::move(key), detail::Kind::kTexts, member,
                                         std::move(help));
  }
  // Parameters: a table whose keys this schema does not know ([plugin.parameters]).
  template <class Member>
  FieldHandle parameters(std::string key, Member member, std::string help) {
    return add<Parameters>(std::move(key), detail::Kind::kParameters, member, std::move(help));
  }
  // [[key]] into a std::vector<Element>; `count` bounds how many there may be. --set reaches an
  // element as "key.0.inner". Keys inside may not be [[tables]] again.
  template <class Member, class Element>
  FieldHandle tables(std::string key, Member member, const Schema<Element>& element,
                     IntegerRange count, std::string help) {
    static_assert(std::is_same_v<MemberType<S, Member>, std::vector<Element>>);
    detail::Field field;
    field.key = std::move(key);
    field.kind = detail::Kind::kTables;
    field.help = std::move(help);
    field.min = count.min;
    field.max = count.max;
    field.table = element.core_;
    const auto list = [member](void* config) -> std::vector<Element>& {
      return std::invoke(member, *static_cast<S*>(config));
    };
    field.append = [list](void* config) -> void* { return &list(config).emplace_back(); };
    field.clear = [list](void* config) { list(config).clear(); };
    field.size = [list](const void* config) { return list(const_cast<void*>(config)).size(); };
    field.element = [list](void* config, std::size_t index) -> void* {
      return &list(config).at(index);
    };
    return FieldHandle(core_->add(std::move(field)));
  }

  // A std::string of an element of tables() that becomes the place of its [[key]],
  // "file:line:column", for errors that only show later.
  template <class Member>
  void place(Member member) {
    static_assert(std::is_same_v<MemberType<S, Member>, std::string>);
    core_->set_place([member](void* config, const std::string& place) {
      std::invoke(member, *static_cast<S*>(config)) = place;
    });
  }

  // Takes over the keys of a member struct, each under "prefix." (as they are if empty).
  template <class Member, class Inner>
  void include(const std::string& prefix, Member member, const Schema<Inner>& inner) {
    static_assert(std::is_same_v<MemberType<S, Member>, Inner>);
    core_->include(prefix, *inner.core_, [member](void* config) -> void* {
      return &std::invoke(member, *static_cast<S*>(config));
    });
  }

  // A rule between keys: `void(const S&, Problems&)`, run when every single value is in range.
  template <class Check>
  void check(Check rule) {
    core_->add_check([rule](const void* config, Problems& problems) {
      rule(*static_cast<const S*>(config), problems);
    });
  }

  const detail::SchemaCore& core() const noexcept { return *core_; }

 private:
  template <class Other>
  friend class Schema;

  template <class Held, class Member>
  FieldHandle add(std::string key, detail::Kind kind, Member member, std::string help) {
    static_assert(std::is_same_v<MemberType<S, Member>, Held>, "the member has another type");
    detail::Field field;
    field.key = std::move(key);
    field.kind = kind;
    field.help = std::move(help);
    field.set = [member](void* config, const detail::Value& value) {
      std::invoke(member, *static_cast<S*>(config)) = std::get<Held>(value);
    };
    field.get = [member](const void* config) -> detail::Value {
      return std::invoke(member, *static_cast<S*>(const_cast<void*>(config)));
    };
    return FieldHandle(core_->add(std::move(field)));
  }

  template <class Member>
  FieldHandle add_number(std::string key, detail::Kind kind, Member member, IntegerRange range,
                         std::string unit, std::string help) {
    using M = MemberType<S, Member>;
    static_assert((std::is_integral_v<M> && !std::is_same_v<M, bool>) || std::is_enum_v<M>);
    if constexpr (std::is_integral_v<M>) {
      // A table that allows what its member cannot hold is a mistake in the program.
      TICKPATH_CHECK(std::in_range<M>(range.min) && std::in_range<M>(range.max),
                     "range exceeds the member");
    }
    detail::Field field;
    field.key = std::move(key);
    field.kind = kind;
    field.unit = std::move(unit);
    field.help = std::move(help);
    field.min = range.min;
    field.max = range.max;
    field.set = [member](void* config, const detail::Value& value) {
      std::invoke(member, *static_cast<S*>(config)) = static_cast<M>(std::get<std::int64_t>(value));
    };
    field.get = [member](const void* config) -> detail::Value {
      return static_cast<std::int64_t>(
          std::invoke(member, *static_cast<S*>(const_cast<void*>(config))));
    };
    return FieldHandle(core_->add(std::move(field)));
  }

  std::shared_ptr<detail::SchemaCore> core_;
};

// overrides: "key=value" as on the command line (--set); they win over the text, and a wrong one is
// reported like a wrong line. Throw ConfigError; load_file also SystemError.
template <class S>
S load_text(const Schema<S>& schema, std::string_view text, const std::string& name,
            const std::vector<std::string>& overrides = {}) {
  S config{};
  detail::read_text(schema.core(), &config, text, name, overrides);
  return config;
}
template <class S>
S load_file(const Schema<S>& schema, const std::string& path,
            const std::vector<std::string>& overrides = {}) {
  S config{};
  detail::read_file(schema.core(), &config, path, overrides);
  return config;
}

// A table whose keys no schema knows, as [plugin.parameters]: integers, numbers, flags and texts.
// Throws ConfigError.
Parameters load_parameters(std::string_view text, const std::string& name);

// The text of a file; of one that extends another, both in one. Throws as load_file().
std::string read_merged_text(const std::string& path);

// Replaces "{name}" in every text and path (also in lists, tables and parameters).
template <class S>
void substitute(const Schema<S>& schema, S& config, const std::string& name,
                const std::string& value) {
  detail::substitute(schema.core(), &config, name, value);
}

// The configuration in effect as TOML, each key with its help, unit and range; it loads again to
// the same values.
template <class S>
std::string print_effective(const Schema<S>& schema, const S& config) {
  return detail::print(schema.core(), &config);
}

}  // namespace tickpath::config
