#include "common/config/detail/schema_core.hpp"

#include "common/base/check.hpp"

namespace tickpath::config::detail {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void substitute_value(Value& value, const std::string& from, const std::string& to) {
  if (auto* text = std::get_if<std::string>(&value)) replace_all(*text, from, to);
  if (auto* texts = std::get_if<std::vector<std::string>>(&value))
    for (std::string& text : *texts) replace_all(text, from, to);
  if (auto* parameters = std::get_if<Parameters>(&value))
    for (Parameter& parameter : *parameters)
      if (auto* text = std::get_if<std::string>(&parameter.value)) replace_all(*text, from, to);
}

// Problems of an included schema, told under its prefix.
class PrefixedProblems final : public Problems {
 public:
  PrefixedProblems(std::string prefix, Problems& outer)
      : prefix_(std::move(prefix)), outer_(outer) {}
  void add(std::string_view key, std::string_view what) override {
    outer_.add(prefix_ + std::string(key), what);
  }

 private:
  std::string prefix_;
  Problems& outer_;
};

}  // namespace

Field& SchemaCore::add(Field field) {
  TICKPATH_CHECK(!field.key.empty() && find(field.key) == nullptr, "a new, named key");
  fields_.push_back(std::move(field));
  return fields_.back();
}

const Field* SchemaCore::find(std::string_view key) const noexcept {
  for (const Field& field : fields_)
    if (field.key == key) return &field;
  return nullptr;
}

void SchemaCore::include(const std::string& prefix, const SchemaCore& inner,
                         const std::function<void*(void*)>& member) {
  const std::string dotted = prefix.empty() ? "" : prefix + ".";
  // The const overloads lead through the same member: it is found, not changed.
  const auto inside = [member](const void* config) { return member(const_cast<void*>(config)); };
  for (Field field : inner.fields_) {
    field.key = dotted + field.key;
    if (field.set)
      field.set = [member, set = field.set](void* config, const Value& value) {
        set(member(config), value);
      };
    if (field.get)
      field.get = [inside, get = field.get](const void* config) { return get(inside(config)); };
    if (field.table) {
      field.append = [member, f = field.append](void* config) { return f(member(config)); };
      field.clear = [member, f = field.clear](void* config) { f(member(config)); };
      field.size = [inside, f = field.size](const void* config) { return f(inside(config)); };
      field.element = [member, f = field.element](void* config, std::size_t index) {
        return f(member(config), index);
      };
    }
    add(std::move(field));
  }
  for (const auto& check : inner.checks_)
    add_check([inside, dotted, check](const void* config, Problems& problems) {
      PrefixedProblems prefixed(dotted, problems);
      check(inside(config), prefixed);
    });
}

void substitute(const SchemaCore& schema, void* config, const std::string& placeholder,
                const std::string& value) {
  const std::string from = "{" + placeholder + "}";
  for (const Field& field : schema.fields()) {
    if (field.kind == Kind::kTables) {
      for (std::size_t i = 0; i < field.size(config); ++i)
        substitute(*field.table, field.element(config, i), placeholder, value);
      continue;
    }
    Value held = field.get(config);
    const Value before = held;
    substitute_value(held, from, value);
    if (held != before) field.set(config, held);
  }
}

}  // namespace tickpath::config::detail
