// What the venue gives as its reasons, in a file and counted.
#include "oeg/venue_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"

namespace tickpath::oeg {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

VenueText text_of(std::uint64_t id, std::string_view said) {
  VenueText text;
  text.set(id, said);
  return text;
}

TEST(VenueTexts, AreFoundByClOrdIdAndCountedByTheirWords) {
  const test_support::Folder folder;
  const std::string journal = folder / "oeg.journal";
  {
    VenueTexts texts(venue_texts_file(journal));
    EXPECT_TRUE(texts.add(text_of(1, "off the tick")));
    EXPECT_TRUE(texts.add(text_of(2, "would trade")));
    EXPECT_TRUE(texts.add(text_of(3, "would trade")));
    EXPECT_TRUE(texts.add(text_of(1, "a tab\tand\na line")));
    EXPECT_EQ(texts.counts()[0], (std::pair<std::string, std::uint64_t>{"would trade", 2}));
  }
  VenueTexts next_run(venue_texts_file(journal));
  EXPECT_TRUE(next_run.add(text_of(4, "closed")));
  EXPECT_THAT(read_venue_texts(journal),
              ::testing::UnorderedElementsAre(Pair(1, "a tab and a line"), Pair(2, "would trade"),
                                              Pair(3, "would trade"), Pair(4, "closed")));
  EXPECT_TRUE(read_venue_texts(folder / "other").empty());
}

TEST(VenueTexts, OfAFullFileMakeWayAndTheFormerFileIsReadToo) {
  const test_support::Folder folder;
  VenueTexts texts(venue_texts_file(folder / "j"), 40);
  for (std::uint64_t id = 1; id <= 24; ++id) EXPECT_TRUE(texts.add(text_of(id, "no")));
  const auto kept = read_venue_texts(folder / "j");
  EXPECT_TRUE(kept.contains(24));
  EXPECT_FALSE(kept.contains(1)) << "bounded";
}

TEST(VenueTexts, ThatCannotBeWrittenSayWhyAndAreCountedAllTheSame) {
  VenueTexts texts("/nonexistent/texts");
  EXPECT_FALSE(texts.add(text_of(1, "no")));
  EXPECT_THAT(texts.error(), ::testing::HasSubstr("cannot open /nonexistent/texts"));
  EXPECT_THAT(texts.counts(), ElementsAre(Pair("no", 1)));
}

TEST(VenueTexts, AreCutWhereTheyAreTooLong) {
  EXPECT_EQ(text_of(1, std::string(500, 'x')).view(), std::string(VenueText::kTextMax, 'x'));
}

}  // namespace
}  // namespace tickpath::oeg
