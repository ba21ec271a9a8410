// What an oeg has of its own when it joins another one: the leader's comes in its place. It is set
// aside under <path>.aside, and put back where the join fails. Once the join has succeeded it is
// kept as <path>.former, in place of what was kept at the join before. Control thread.
#pragma once

#include <string>
#include <vector>

namespace tickpath::oeg {

class SetAside {
 public:
  // The journal's path, and single files beside it.
  SetAside(const std::string& journal, std::vector<std::string> files);

  // Sets all aside. Where that was done before, for a join that did not succeed, what stands in
  // its place is of that join, and is removed. Throws Error: the journal is in use; SystemError.
  void begin() const;
  // The join failed.
  void put_back() const;
  // The join has succeeded; or this oeg leads, and what stands in place is its own.
  void keep() const;

 private:
  void remove_journal() const;

  std::string journal_;
  std::string unfinished_;  // not all of the journal is in it yet
  std::string aside_;
  std::vector<std::string> files_;
};

}  // namespace tickpath::oeg
