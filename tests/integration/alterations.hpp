// What a run has left, altered in one place: a number, a text, a byte, a record, a file. Of each
// place that means nothing to the accounts, this says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tickpath::test_support {

struct Alteration {
  std::string what;        // "oeg.journal: record 17, price"
  std::string named;       // part of what the auditor must say
  bool note = false;       // it casts doubt, and the accounts may fit all the same
  bool recording = false;  // `books --recording` tells
  bool inputs = false;     // `replay --deterministic --journal` tells
};

// Alters one file or none of a run directory at a time. One thread.
class Alterations {
 public:
  // recording: what the run has replayed.
  Alterations(std::string run_dir, std::string recording, unsigned seed);

  // Any file that the run left is one that is altered, or one of which it is said why not. The
  // names of those that are neither.
  std::vector<std::string> unknown_files() const;

  // Files are put back by undo().
  Alteration any();
  void undo();

 private:
  using Way = std::function<Alteration()>;

  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(dice_);
  }
  std::string path(const std::string& file) const { return run_dir_ + "/" + file; }
  std::vector<std::string> files_ending(const std::string& ending) const;
  std::string pick(const std::vector<std::string>& names) { return names[below(names.size())]; }
  // Its content is kept for undo().
  std::string open(const std::string& path);
  void write_at(std::size_t offset, const void* bytes, std::size_t size) const;

  Alteration summary();
  Alteration record();
  Alteration journal_header();
  Alteration stored_message();
  Alteration stored_figure();
  Alteration store_header();
  Alteration line_of(const std::string& file, const std::string& named);
  Alteration texts();
  Alteration routes();
  Alteration life();
  Alteration symbols();
  Alteration recorded_message();
  Alteration inputs();
  Alteration lost_file();
  Alteration strange_file();

  std::string run_dir_;
  std::string recording_;
  std::mt19937 dice_;
  std::string opened_;  // path of the file that is altered
  std::string before_;  // its content
  bool made_ = false;   // it came from nowhere
};

}  // namespace tickpath::test_support
