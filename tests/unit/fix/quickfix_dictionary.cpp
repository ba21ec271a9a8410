// Compiled as C++14: see the header.
#include "tests/unit/fix/quickfix_dictionary.hpp"

#include <exception>
#include <sstream>

#include <quickfix/DataDictionary.h>
#include <quickfix/Message.h>

namespace tickpath {
namespace fix {

std::string quickfix_verdict(const std::string& xml, const std::string& message) {
  try {
    std::istringstream stream(xml);
    const FIX::DataDictionary dictionary(stream);
    const FIX::Message parsed(message, dictionary, true);
    dictionary.validate(parsed);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

namespace {

// Above any tag of FIX 4.4.
const int kTagsEnd = 1000;

std::string shown(bool has, bool required) {
  return !has ? "absent" : required ? "required" : "optional";
}

class Comparison {
 public:
  Comparison(const FIX::DataDictionary& ours, const FIX::DataDictionary& standard)
      : ours_(ours), standard_(standard) {}

  // A message; or a repeating group, which QuickFIX keeps as a dictionary of its own whose fields
  // are just those of the group.
  void fields(const std::string& where, const std::string& type, const FIX::DataDictionary& ours,
              const FIX::DataDictionary& standard, bool in_group = false) {
    const auto use = [&](const FIX::DataDictionary& dictionary, int tag) {
      return shown(in_group ? dictionary.isField(tag) : dictionary.isMsgField(type, tag),
                   dictionary.isRequiredField(type, tag));
    };
    for (int tag = 1; tag < kTagsEnd; ++tag) {
      const std::string a = use(ours, tag);
      const std::string b = use(standard, tag);
      const std::string at = where + " " + std::to_string(tag);
      if (a != b) found.push_back(at + ": " + a + ", standard " + b);
      if (a == "absent" || b == "absent") continue;
      type_of(tag);
      group(at, type, tag, ours, standard);
    }
  }

  void frame() {
    for (int tag = 1; tag < kTagsEnd; ++tag) {
      if (ours_.isHeaderField(tag) != standard_.isHeaderField(tag))
        found.push_back("header " + std::to_string(tag));
      if (ours_.isTrailerField(tag) != standard_.isTrailerField(tag))
        found.push_back("trailer " + std::to_string(tag));
    }
  }

  std::vector<std::string> found;

 private:
  void group(const std::string& where, const std::string& type, int tag,
             const FIX::DataDictionary& ours, const FIX::DataDictionary& standard) {
    int first[2] = {0, 0};
    const FIX::DataDictionary* members[2] = {nullptr, nullptr};
    const bool has[2] = {ours.getGroup(type, tag, first[0], members[0]),
                         standard.getGroup(type, tag, first[1], members[1])};
    if (has[0] != has[1] || first[0] != first[1])
      found.push_back(where + ": group beginning with " + std::to_string(first[0]) + ", standard " +
                      std::to_string(first[1]));
    else if (has[0])
      fields(where, type, *members[0], *members[1], true);
  }

  // Only whether a value could be refused that the standard allows: free text is never refused.
  void type_of(int tag) {
    FIX::TYPE::Type ours = FIX::TYPE::Unknown;
    FIX::TYPE::Type standard = FIX::TYPE::Unknown;
    ours_.getFieldType(tag, ours);
    standard_.getFieldType(tag, standard);
    if (ours != FIX::TYPE::String && kind_of(ours) != kind_of(standard))
      found.push_back("type of " + std::to_string(tag));
    for (char value = '!'; value <= '~'; ++value) {
      const std::string text(1, value);
      if (ours_.hasFieldValue(tag) && standard_.isFieldValue(tag, text) &&
          !ours_.isFieldValue(tag, text))
        found.push_back("value " + text + " of " + std::to_string(tag));
    }
  }

  static FIX::TYPE::Type kind_of(FIX::TYPE::Type type) {
    switch (type) {
      case FIX::TYPE::Price:
      case FIX::TYPE::Amt:
      case FIX::TYPE::Qty:
      case FIX::TYPE::PriceOffset:
      case FIX::TYPE::Percentage:
        return FIX::TYPE::Float;
      case FIX::TYPE::SeqNum:
      case FIX::TYPE::NumInGroup:
      case FIX::TYPE::Length:
        return FIX::TYPE::Int;
      default:
        return type;
    }
  }

  const FIX::DataDictionary& ours_;
  const FIX::DataDictionary& standard_;
};

}  // namespace

std::vector<std::string> quickfix_differences(const std::string& ours, const std::string& standard,
                                              const std::vector<std::string>& types) {
  std::istringstream stream(ours);
  const FIX::DataDictionary our_dictionary(stream);
  const FIX::DataDictionary standard_dictionary(standard);
  Comparison comparison(our_dictionary, standard_dictionary);
  comparison.frame();
  for (const std::string& type : types)
    comparison.fields(type, type, our_dictionary, standard_dictionary);
  return comparison.found;
}

}  // namespace fix
}  // namespace tickpath
