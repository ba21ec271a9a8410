// Decisions of the router in their file: over lives, kills, a full file, damage.
#include "strategy/route_file.hpp"

#include <filesystem>
#include <memory>

#include <gmock/gmock.h>

#include "common/base/error.hpp"
#include "common/clock/host.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::strategy {
namespace {

using test_support::Folder;
using test_support::read_file;
using test_support::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

RouteRecord record(std::uint64_t number, std::uint8_t venues = 2) {
  RouteRecord made;
  made.head.number = number;
  made.head.shares = 100;
  made.head.venue_count = venues;
  for (std::uint8_t i = 0; i < venues; ++i) {
    made.venues[i].venue = i;
    made.venues[i].level_count = 1;
    made.venues[i].levels[0] = {10'000u + i, 300};
  }
  return made;
}

class RoutesInAFile : public ::testing::Test {
 protected:
  std::unique_ptr<RouteFile> open(std::uint64_t bytes_max = 1 << 20) {
    return std::make_unique<RouteFile>(path, bytes_max);
  }
  void write(RouteFile& file, std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) ASSERT_TRUE(ring.try_push(record(number)));
    file.write(ring);
  }
  std::vector<std::uint64_t> numbers(const RecordedLife& life) const {
    std::vector<std::uint64_t> all;
    for (const RouteRecord& each : life.routes) all.push_back(each.head.number);
    return all;
  }
  const Folder folder;
  const std::string path = folder / "strategy.routes";
  RouteRing ring{8};
};

TEST_F(RoutesInAFile, AreReadAsTheyWereWritten) {
  const auto file = open();
  write(*file, {1, 2});
  file->end(2);
  const auto lives = read_routes(path);
  ASSERT_THAT(lives, SizeIs(1));
  EXPECT_THAT(numbers(lives[0]), ElementsAre(1u, 2u));
  EXPECT_TRUE(lives[0].ended);
  EXPECT_EQ(lives[0].tally.routes, 2u);
  EXPECT_EQ(lives[0].tally.recorded, 2u);
  EXPECT_EQ(lives[0].life.host_id, clock::host_id());
  const RouteRecord& read = lives[0].routes[1];
  EXPECT_GT(read.head.written_ns, 0);
  EXPECT_EQ(read.head.venue_count, 2u);
  EXPECT_EQ(read.venues[1].levels[0].price, 10'001u);
}

// A program that was killed has no end, and a frame in part; the next one appends.
TEST_F(RoutesInAFile, OfAKilledProgramStayWhenItStartsAgain) {
  write(*open(), {1, 2, 3});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 101);
  EXPECT_THAT(numbers(read_routes(path).at(0)), ElementsAre(1u, 2u));
  const auto file = open();
  write(*file, {1});
  file->end(1);
  const auto lives = read_routes(path);
  ASSERT_THAT(lives, SizeIs(2));
  EXPECT_THAT(numbers(lives[0]), ElementsAre(1u, 2u));
  EXPECT_FALSE(lives[0].ended);
  EXPECT_THAT(numbers(lives[1]), ElementsAre(1u));
  EXPECT_TRUE(lives[1].ended);
}

TEST_F(RoutesInAFile, EndAtTheBoundAndSayHowManyAreMissing) {
  const auto file = open(900);
  write(*file, {1, 2, 3});
  EXPECT_EQ(file->recorded(), 2u);
  EXPECT_EQ(file->refused(), 1u);
  EXPECT_THAT(file->problem(), HasSubstr("strategy.routes is full (routes.bytes_max)"));
  file->end(3);
  const auto lives = read_routes(path);
  EXPECT_EQ(lives.at(0).tally.routes, 3u);
  EXPECT_EQ(lives.at(0).tally.recorded, 2u);
  EXPECT_LE(std::filesystem::file_size(path), 1'000u);
  const auto next = open(860);  // for the next life there is no room at all
  write(*next, {1});
  next->end(1);
  EXPECT_EQ(next->refused(), 1u);
  EXPECT_THAT(read_routes(path), SizeIs(1));
}

TEST_F(RoutesInAFile, ThatIsDamagedAreAnErrorThatSaysWhere) {
  const auto file = open();
  write(*file, {1, 2});
  file->end(2);
  const std::string whole = read_file(path);
  const auto says = [&](std::string bytes) {
    write_file(path, bytes);
    return test_support::error_of<Error>([&] { (void)read_routes(path); });
  };
  std::string broken = whole;
  broken[200] ^= 1;
  EXPECT_THAT(says(broken), HasSubstr("is damaged within a life, at byte 40"));
  EXPECT_THAT(says(whole + "more of it, by another hand"), HasSubstr("behind the end of a life"));
  EXPECT_THAT(says("no such file at all"), HasSubstr("is no record of routed orders"));
  EXPECT_THAT(says(whole.substr(40)), HasSubstr("outside of a life"));
  std::filesystem::remove(path);
  EXPECT_THAT(test_support::error_of<SystemError>([&] { (void)read_routes(path); }),
              HasSubstr("cannot read"));
}

}  // namespace
}  // namespace tickpath::strategy
