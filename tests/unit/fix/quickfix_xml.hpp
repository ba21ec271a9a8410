// The dictionary's table as QuickFIX reads it: DataDictionary, "spec/FIX44.xml" of QuickFIX 1.15.1
// for the elements.
#pragma once

#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/names.hpp"
#include "common/fix/detail/dictionary_table.hpp"
#include "common/fix/dictionary.hpp"

namespace tickpath::fix {
using detail::FieldType;

inline std::string_view type_name(FieldType type) {
  using enum FieldType;
  return name_in(type,
                 {{kString, "STRING"},
                  {kChar, "CHAR"},
                  {kInt, "INT"},
                  {kFloat, "FLOAT"},
                  {kBoolean, "BOOLEAN"},
                  {kTime, "UTCTIMESTAMP"},
                  {kLength, "LENGTH"},
                  {kData, "DATA"},
                  {kSeqNum, "SEQNUM"},
                  {kGroup, "NUMINGROUP"}},
                 "STRING");
}

inline const detail::Field& field_of(std::uint16_t tag) {
  for (const detail::Field& field : detail::kFields)
    if (field.tag == tag) return field;
  throw Error(fmt::format("tag {} of the FIX dictionary is no field", tag));
}

// The values of a kCode, each between two spaces.
template <class Visit>
void for_each_code(std::string_view values, Visit&& visit) {
  for (std::size_t at = 1; at < values.size();) {
    const std::size_t end = values.find(' ', at);
    visit(values.substr(at, end - at));
    at = end + 1;
  }
}

// Groups nest: a count opens its element, which the next field outside it closes.
inline std::string field_list(const detail::Message& message, bool v44) {
  std::string xml;
  std::vector<std::uint16_t> open;
  const auto close_up_to = [&](std::uint16_t group) {
    for (; !open.empty() && open.back() != group; open.pop_back()) xml += "</group>";
  };
  detail::for_each_use(message, v44, [&](const detail::Use& use) {
    close_up_to(use.group);
    const char required = use.required ? 'Y' : 'N';
    const bool group = field_of(use.tag).type == FieldType::kGroup;
    xml += fmt::format("<{} name='{}' required='{}'{}>", group ? "group" : "field",
                       field_of(use.tag).name, required, group ? "" : "/");
    if (group) open.push_back(use.tag);
  });
  close_up_to(0);
  return xml;
}

inline std::string field_definition(const detail::Field& field, bool v44) {
  std::string xml = fmt::format("<field number='{}' name='{}' type='{}'>", field.tag, field.name,
                                type_name(field.type));
  const std::string_view values = v44 ? field.values44 : field.values42;
  const auto add = [&](std::string_view value) {
    xml += fmt::format("<value enum='{0}' description='V_{0}'/>", value);
  };
  if (field.type == FieldType::kCode)
    for_each_code(values, add);
  else
    for (const char& value : values) add({&value, 1});
  return xml + "</field>\n";
}

inline std::string quickfix_xml(Version version) {
  const bool v44 = version == Version::k44;
  std::string xml = fmt::format("<fix type='FIX' major='4' minor='{}' servicepack='0'>\n",
                                begin_string(version).back());
  xml += "<header>" + field_list(detail::kHeader, v44) + "</header>\n";
  xml += "<trailer>" + field_list(detail::kTrailer, v44) + "</trailer>\n<messages>\n";
  for (const detail::Message& message : detail::kMessages) {
    const std::string fields = field_list(message, v44);
    if (fields.empty()) continue;
    xml += fmt::format("<message name='{}' msgtype='{}' msgcat='{}'>{}</message>\n", message.name,
                       message.type, message.admin ? "admin" : "app", fields);
  }
  xml += "</messages>\n<components/>\n<fields>\n";
  for (const detail::Field& field : detail::kFields) xml += field_definition(field, v44);
  return xml + "</fields>\n</fix>\n";
}

}  // namespace tickpath::fix
