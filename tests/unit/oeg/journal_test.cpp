#include "tests/unit/oeg/journal_fixture.hpp"

namespace tickpath::oeg::journaled {

TEST_F(JournalTest, HasNoEndAndKeepsSoManyFormerSegments) {
  const std::vector<JournalRecord> day = random_day(3, 2000);
  ASSERT_GT(day.size(), 64u * 20);
  JournalOptions given = options();
  given.archived_max = 3;
  {
    Journal journal(given);
    append_all(journal, day);
    EXPECT_EQ(journal.size().get(), day.size());
    EXPECT_EQ(journal.segments().get(), (day.size() + 63) / 64);
    EXPECT_EQ(journal.archived().get(), 3u);
    EXPECT_TRUE(journal.has_room());
  }
  // In use, next, checkpoint, lock.
  EXPECT_EQ(files(), 4u + 3u);
  EXPECT_EQ(describe(Journal(given).state()), reference(day, day.size()));
}

TEST_F(JournalTest, ADeathBetweenAnyTwoStepsIsRecoveredToTheSameState) {
  const std::vector<JournalRecord> day = random_day(5, 260);
  ASSERT_GT(day.size(), 64u * 3);
  std::size_t appended = 0;
  int steps = 0;
  JournalOptions given = options();
  given.archived_max = 1;
  given.step = [&] {
    expect_recovers(reference(day, appended), "step " + std::to_string(++steps));
  };
  for (int life = 0; appended < day.size(); ++life) {
    // Three lives, so that each step of an opening is met, too.
    Journal journal(given);
    ASSERT_EQ(describe(journal.state()), reference(day, appended));
    const std::size_t end = life == 2 ? day.size() : day.size() * (life + 1) / 3;
    for (; appended < end;) {
      // Late now and then, so that the datapath goes on where the control thread has not followed.
      if (appended % 64 < 60) journal.maintain(0);
      ASSERT_EQ(journal.problem(), "");
      JournalRecord record = day[appended];
      ASSERT_TRUE(journal.append(record));
      ++appended;
      if (appended % 64 < 3 || appended % 64 > 61)
        expect_recovers(reference(day, appended), "after record " + std::to_string(appended));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(steps, 20);
}

// The datapath appends as fast as there is room, the control thread follows, seals and prepares:
// every record and every pointer between the two is passed hundreds of times.
TEST_F(JournalTest, FollowsADatapathThatGoesOnMeanwhile) {
  const std::vector<JournalRecord> day = random_day(3, 12'000);
  {
    Journal journal(options());
    std::atomic<bool> done{false};
    std::thread datapath([&] {
      for (JournalRecord record : day) {
        while (!journal.has_room_for_reports()) std::this_thread::yield();
        EXPECT_TRUE(journal.append(record));
      }
      done.store(true);
    });
    while (!done.load()) journal.maintain(0);
    datapath.join();
    journal.maintain(0);
    EXPECT_EQ(journal.problem(), "");
  }
  EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size()));
}

TEST_F(JournalTest, ARecordThatWasHalfWrittenWasNeverWritten) {
  const std::vector<JournalRecord> day = random_day(5, 40);
  {
    Journal journal(options());
    append_all(journal, day);
  }
  {
    // The last thing that append() stores is the sequence.
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(4096 + ((day.size() - 1) % 64) * 128));
    const std::uint64_t nothing = 0;
    file.write(reinterpret_cast<const char*>(&nothing), sizeof(nothing));
  }
  EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size() - 1));
}

TEST_F(JournalTest, WithoutANextSegmentOrdersGoFirstThenChangesThenReports) {
  fs::create_directory(path_ + ".next");  // as a full disk would: it cannot be made
  JournalOptions given = options();
  given.records = 128;
  Journal journal(given);
  journal.maintain(0);
  EXPECT_THAT(journal.problem(), HasSubstr(".next"));
  EXPECT_EQ(journal.failures().get(), 1u);
  JournalRecord record = random_day(1, 1).front();
  int orders = 0;
  int changes = 0;
  int reports = 0;
  while (journal.has_room_for_reports()) {
    orders += journal.has_room() ? 1 : 0;
    changes += journal.has_room_for_changes() ? 1 : 0;
    ++reports;
    ASSERT_TRUE(journal.append(record));
  }
  EXPECT_EQ(orders, 112);
  EXPECT_EQ(changes, 120);
  EXPECT_EQ(reports, 124);
  journal.maintain(1);  // too early for another try
  EXPECT_FALSE(journal.has_room_for_reports());
  fs::remove(path_ + ".next");
  journal.maintain(1'000'000'000);
  EXPECT_EQ(journal.problem(), "");
  EXPECT_TRUE(journal.has_room());
  EXPECT_TRUE(journal.has_room_for_reports());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(journal.append(record));
}

TEST_F(JournalTest, IsNotMovedWhileItIsInUse) {
  {
    const Journal journal(options());
    EXPECT_THAT(test_support::error_of<Error>([&] { Journal::move_all(path_, path_ + ".aside"); }),
                HasSubstr("is in use by another oeg"));
  }
  EXPECT_NO_THROW(Journal::move_all(path_, path_ + ".aside"));
  EXPECT_FALSE(fs::exists(path_));
}

// A standby's, when its leader dies.
TEST_F(JournalTest, FollowsToTheEndThoughNoFileCanBeRenamed) {
  bool broken = false;
  JournalOptions given = options();
  given.step = [&] {
    if (broken) throw SystemError("cannot rename", ENOSPC);
  };
  const std::vector<JournalRecord> day = random_day(3, 400);
  Journal journal(given);
  journal.maintain(0);
  broken = true;
  std::size_t written = 0;
  for (JournalRecord record = day[0]; journal.append(record); record = day[written]) ++written;
  ASSERT_EQ(written, 128u) << "this segment, and the next one";
  EXPECT_NO_THROW(journal.catch_up());
  EXPECT_EQ(journal.state().sequence, written);
  EXPECT_NE(journal.problem(), "");
  broken = false;
  journal.maintain(2'000'000'000);
  EXPECT_EQ(journal.problem(), "");
  JournalRecord next = day[written];
  EXPECT_TRUE(journal.append(next));
  journal.catch_up();
  EXPECT_EQ(describe(journal.state()), reference(day, written + 1));
}

TEST_F(JournalTest, KeepsRoomForAFullLogBesideWhatAStandbyTakes) {
  bool broken = true;
  JournalOptions given = options();
  given.log_records = 20;
  given.step = [&] {
    if (broken) throw SystemError("cannot create", ENOSPC);
  };
  const std::vector<JournalRecord> day = random_day(4, 200);
  Journal journal(given);
  journal.maintain(0);
  std::size_t written = 0;
  for (; journal.left_to_follow() != 0; ++written) {
    JournalRecord record = day[written];
    ASSERT_TRUE(journal.append(record));
  }
  EXPECT_EQ(written, 64u - 20u - 64u / 8);
  for (int of_log = 0; of_log < 20; ++of_log, ++written) {
    JournalRecord record = day[written];
    ASSERT_TRUE(journal.append(record));
  }
  EXPECT_TRUE(journal.has_room_for_reports()) << "of what becomes of the orders";
  broken = false;
  journal.maintain(2'000'000'000);
  EXPECT_EQ(journal.left_to_follow(), 64u - 20u) << "the eighth, and the next segment";
}

TEST_F(JournalTest, AFullDiskIsToldAndLosesNoRecord) {
  const std::vector<JournalRecord> day = random_day(5, 300);
  JournalOptions given = options();
  const auto finished = test_support::on_a_small_disk(64, [&](const std::string& folder) {
    given.path = folder + "/oeg.journal";
    std::ofstream(folder + "/filler") << std::string(44 << 10, 'x');
    std::size_t written = 0;
    {
      Journal journal(given);
      journal.maintain(0);
      std::printf("problem: %s\n", journal.problem().c_str());
      for (JournalRecord record = day[written]; journal.append(record); record = day[written])
        ++written;
      std::printf("%zu in the segment\n", written);
      fs::remove(folder + "/filler");
      journal.maintain(1'000'000'000);
      std::printf("then: %s\n", journal.problem().c_str());
      for (JournalRecord record = day[written]; written < 80 && journal.append(record);
           record = day[written])
        ++written;
    }
    std::puts(describe(Journal(given).state()) == reference(day, written) ? "all there" : "lost");
  });
  if (IsSkipped()) return;
  EXPECT_EQ(finished.signal, 0);
  for (const char* expected : {"cannot reserve space for journal", "No space left",
                               "64 in the segment\nthen: \nall there"})
    EXPECT_NE(finished.output.find(expected), std::string::npos)
        << expected << " in " << finished.output;
}

TEST_F(JournalTest, KeepsNoRoomForWhatIsOver) {
  JournalOptions given = options(JournalStart::kAuto);
  given.records = 4096;
  for (int days = 0; days < 3; ++days) {
    Journal journal(given);
    append_all(journal, random_day(9, 20));
    journal.close_in_order();
  }
  EXPECT_EQ(files(), 5u);  // that of the last day, two former ones, checkpoint, lock
  const std::uintmax_t bytes = fs::file_size(path_ + ".000001");
  EXPECT_EQ(bytes, 4096 + random_day(9, 20).size() * 128);
  EXPECT_EQ(Journal(given).state().ledger.position_count(), 1u);
  EXPECT_EQ(Journal(options()).state().ledger.position_count(), 1u);
}

// Two segments of 256 MiB each are reserved; in memory is where the datapath is.
TEST_F(JournalTest, TakesMemoryForWhatIsNearNotForTheSizeOfItsSegments) {
  const auto resident = [] {
    std::uint64_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  };
  JournalOptions given = options();
  given.records = 1u << 21;
  const std::uint64_t before = resident();
  Journal journal(given);
  append_all(journal, random_day(9, 20));
  for (int i = 0; i < 200; ++i) journal.maintain(0);
  EXPECT_LT(resident() - before, 150u << 20);
  EXPECT_EQ(fs::file_size(path_), 4096 + (std::uintmax_t{1} << 21) * 128);
}

TEST_F(JournalTest, ForgetsPositionsOnlyWhenTold) {
  {
    Journal journal(options());
    append_all(journal, random_day(9, 150));
  }
  JournalOptions given = options(JournalStart::kFresh);
  given.carry_positions = false;
  for (int opening = 0; opening < 2; ++opening) {
    const Journal journal(opening == 0 ? given : options());
    EXPECT_EQ(journal.state().ledger.position_count(), 0u);
    EXPECT_EQ(journal.state().records, 0u);
  }
}

TEST_F(JournalTest, AnotherSizeOfSegmentsHoldsFromTheNextOne) {
  const std::vector<JournalRecord> day = random_day(3, 500);
  JournalOptions given = options();
  {
    Journal journal(given);
    append_all(journal, {day.begin(), day.begin() + 100});
  }
  given.records = 256;
  {
    Journal journal(given);
    append_all(journal, {day.begin() + 100, day.end()});
    EXPECT_EQ(journal.segments().get(), 1 + (day.size() - 128 + 255) / 256);
  }
  EXPECT_EQ(describe(Journal(given).state()), reference(day, day.size()));
}

TEST_F(JournalTest, RefusesWhatItCannotReadAndSaysWhatToDo) {
  {
    Journal journal(options());
    EXPECT_NE(error_of(options()).find("in use by another oeg"), std::string::npos);
    append_all(journal, random_day(3, 200));
  }
  const std::string checkpoint = path_ + ".checkpoint";
  fs::rename(checkpoint, checkpoint + ".away");
  EXPECT_EQ(error_of(options()), "no error") << "all segments are still there";
  fs::remove(path_ + ".000001");
  fs::remove(checkpoint);
  EXPECT_THAT(error_of(options()), HasSubstr("segment 1 is missing, or the checkpoint is"));
  fs::rename(checkpoint + ".away", checkpoint);
  EXPECT_EQ(error_of(options()), "no error");
  fs::resize_file(checkpoint, fs::file_size(checkpoint) - 1);
  EXPECT_THAT(error_of(options()), HasSubstr("is damaged"));
  // Unreadable is not the same as empty.
  EXPECT_NE(error_of(options(JournalStart::kFresh)).find("is damaged"), std::string::npos);
  JournalOptions given = options(JournalStart::kFresh);
  given.carry_positions = false;
  { EXPECT_EQ(Journal(given).state().ledger.position_count(), 0u); }
  EXPECT_TRUE(fs::exists(checkpoint + ".previous"));
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "this is no journal";
  EXPECT_THAT(error_of(options()), HasSubstr("is not an order journal"));
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "tkjourn1 and so on";
  EXPECT_THAT(error_of(options()), HasSubstr("is of version 1"));
  { EXPECT_EQ(Journal(given).state().records, 0u); }
  EXPECT_TRUE(fs::exists(path_ + ".previous"));
}

// Its records are entries by themselves. A program of that version must not go on with it.
TEST_F(JournalTest, GoesOnWithASegmentOfVersion2AndMakesItOneOfVersion3) {
  const std::vector<JournalRecord> day = random_day(4, 30);
  {
    Journal journal(options());
    append_all(journal, day);
  }
  const auto version = [&] {
    SegmentHeader header;
    EXPECT_EQ(JournalSegment::examine(path_, header), SegmentKind::kSegment);
    return header.magic[7];
  };
  EXPECT_EQ(version(), '3');
  std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out).seekp(7) << '2';
  EXPECT_EQ(version(), '2');
  EXPECT_EQ(describe(Journal(options()).state()), reference(day, day.size()));
  EXPECT_EQ(version(), '3');
}

TEST_F(JournalTest, ReadsTheRowsOfACheckpointThatKnewNoFees) {
  JournalState state({64, 16, 16, 64});
  for (const JournalRecord& record : random_day(9, 150)) state.apply(record);
  fs::create_directories(folder_);
  const std::string checkpoint = path_ + ".checkpoint";
  const auto rewrite = [&](auto&& change) {
    std::ifstream in(checkpoint, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    change(bytes);
    std::ofstream(checkpoint, std::ios::binary) << bytes;
  };
  write_checkpoint(checkpoint, state, 1, 1, [] {});
  // As it was written once: the same bytes, of which the last 16 of a row were two counts.
  rewrite([](std::string& bytes) {
    std::size_t at = sizeof(CheckpointHeader);
    CheckpointSection section{};
    for (;; at += sizeof(section) + section.item_bytes * section.count) {
      std::memcpy(&section, bytes.data() + at, sizeof(section));
      if (section.kind == SectionKind::kPositions) break;
    }
    section.kind = SectionKind::kFormerPositions;
    std::memcpy(bytes.data() + at, &section, sizeof(section));
    CheckpointFormerRow row{};
    std::memcpy(&row, bytes.data() + at + sizeof(section), sizeof(row));
    row.events = 77;
    row.fills = 33;
    std::memcpy(bytes.data() + at + sizeof(section), &row, sizeof(row));
    CheckpointHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.checksum = fnv1a(std::string_view(bytes).substr(sizeof(header)));
    std::memcpy(bytes.data(), &header, sizeof(header));
  });
  JournalState again({64, 16, 16, 64});
  read_checkpoint(checkpoint, again);
  const wire::PositionRow& row = again.ledger.position(0).row;
  EXPECT_EQ(row.position_shares, state.ledger.position(0).row.position_shares);
  EXPECT_EQ(row.cash, state.ledger.position(0).row.cash);
  EXPECT_EQ(row.events, 77u);
  EXPECT_EQ(row.fills, 33u);
  EXPECT_EQ(row.fees, 0);
  EXPECT_EQ(read_checkpoint_holdings(checkpoint).positions.at(0).fills, 33u);
}

TEST_F(JournalTest, ACheckpointOfANewerOegIsRefused) {
  {
    Journal journal(options());
    append_all(journal, random_day(3, 100));
  }
  CheckpointHeader header;
  std::string bytes;
  {
    std::ifstream file(path_ + ".checkpoint", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  ++header.version;
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ofstream(path_ + ".checkpoint", std::ios::binary) << bytes;
  EXPECT_THAT(error_of(options()), HasSubstr("version 2, this oeg reads version 1"));
}

}  // namespace tickpath::oeg::journaled
