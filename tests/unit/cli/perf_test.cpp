// `tickpath lat` and `tickpath bw` as a user runs them, on tiny inputs: forked, against a server of
// its own, against a baseline, and wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "tests/support/finished.hpp"
#include "tests/support/process.hpp"

namespace tickpath::test_support {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr auto kLimit = std::chrono::seconds(60);

std::vector<std::string> command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program("tickpath"));
  return arguments;
}

Finished tickpath(const std::vector<std::string>& arguments) {
  return run(command(arguments), "", kLimit);
}

Json json_of(const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  const Json json = Json::parse(finished.output, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << finished.output;
  return json;
}

std::vector<std::string> operations_of(const Json& json) {
  std::vector<std::string> operations;
  for (const Json& row : json["rows"]) operations.push_back(row["operation"]);
  return operations;
}

TEST(PerfCommands, LatPrintsPerftestsColumnsForEveryOperation) {
  const Finished finished = tickpath({"lat", "--perftest", "--size", "2,64", "--iterations", "50"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  for (const char* text :
       {"#bytes #iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]",
        "t_stdev[usec]", "99%[usec]", "99.9%[usec]", "99.99%[usec]", "RDMA WRITE latency",
        "RDMA WRITE_WITH_IMM latency", "RDMA SEND latency", "RDMA READ latency",
        "RDMA COMPARE_SWAP latency", "RDMA FETCH_ADD latency"}) {
    EXPECT_THAT(finished.output, HasSubstr(text));
  }
}

TEST(PerfCommands, LatJsonHasEveryFigureAndThePictureEveryRow) {
  const Folder folder;
  const Json json = json_of(tickpath({"lat", "--perftest", "--size", "6,64", "--iterations", "200",
                                      "--inline", "0", "--svg", folder / "lat.svg", "--json"}));
  EXPECT_EQ(json["tool"], "lat");
  EXPECT_EQ(json["provider"], "shm");
  EXPECT_EQ(json["mode"], "forked");
  EXPECT_EQ(json["inline_bytes"], 0);
  ASSERT_EQ(json["rows"].size(), 10u);  // four operations at two sizes, two atomics
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["iterations"], 200);
    EXPECT_EQ(row["inline"], false);
    double before = 0;
    for (const char* key : {"t_min_us", "t_typical_us", "p99_us", "p999_us", "t_max_us"}) {
      EXPECT_GE(row[key].get<double>(), before) << key << " in " << row.dump();
      before = row[key];
    }
    std::uint64_t in_histogram = 0;
    for (const Json& bin : row["histogram"]) in_histogram += bin[2].get<std::uint64_t>();
    EXPECT_EQ(in_histogram, 200u);
  }
  const std::string svg = read_file(folder / "lat.svg");
  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr("FETCH_ADD 8 bytes"));
  EXPECT_THAT(svg, HasSubstr("WRITE_WITH_IMM 6 bytes"));
}

TEST(PerfCommands, OneServerServesLatAndBwOfSeparateClients) {
  const Folder folder;
  const std::string endpoint = folder / "server";
  Process server(command({"lat", "--server", "--forever", "--endpoint", endpoint}));
  ASSERT_TRUE(server.wait_for_output("listening on " + endpoint, kLimit)) << server.output();
  const Json lat =
      json_of(tickpath({"lat", "--endpoint", endpoint, "--size", "8,4096", "--iterations", "100",
                        "--tx-depth", "16", "--signal-every", "4", "--json"}));
  EXPECT_EQ(lat["mode"], "client");
  EXPECT_EQ(lat["tx_depth"], 16);
  EXPECT_EQ(lat["rows"].size(), 10u);
  const Json bw = json_of(tickpath({"bw", "--endpoint", endpoint, "--size", "64,100000",
                                    "--iterations", "300", "--batch", "8", "--json"}));
  EXPECT_EQ(operations_of(bw),
            (std::vector<std::string>{"WRITE", "WRITE", "SEND", "SEND", "READ", "READ"}));
  for (const Json& row : bw["rows"]) {
    EXPECT_EQ(row["iterations"], 300);
    EXPECT_GT(row["average_mb_s"].get<double>(), 0);
    EXPECT_GE(row["peak_mb_s"].get<double>(), row["average_mb_s"].get<double>());
    EXPECT_FALSE(row.contains("memcpy_mb_s")) << "the server could be on another host";
  }
  EXPECT_TRUE(server.wait_for_output("served", kLimit));
}

TEST(PerfCommands, BwPrintsPerftestsColumnsBesideMemcpyInBothDirections) {
  const Finished finished = tickpath(
      {"bw", "--bidirectional", "--size", "64,4096", "--iterations", "500", "--tx-depth", "32"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  for (const char* text : {"#bytes #iterations", "BW peak[MB/sec]", "BW average[MB/sec]",
                           "MsgRate[Mpps]", "memcpy[MB/sec]", "RDMA SEND bandwidth (both"}) {
    EXPECT_THAT(finished.output, HasSubstr(text));
  }
}

TEST(PerfCommands, OpenLoopCountsFromTheScheduleAndEndsInTime) {
  const Json json = json_of(tickpath({"lat", "--rate", "2000", "--duration", "0.2", "--json"}));
  EXPECT_EQ(json["rate_per_s"], 2000);
  ASSERT_EQ(json["rows"].size(), 6u);
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["one_way"], false);
    EXPECT_THAT(row["boundary"].get<std::string>(), HasSubstr("scheduled"));
    EXPECT_GT(row["under_way_max"], 1);
    EXPECT_GE(row["iterations"], 10);
  }
}

TEST(PerfCommands, LatWithoutMoreIsStillMeasuredBesideTheFloor) {
  const Json json =
      json_of(tickpath({"lat", "write", "--iterations", "100", "--rounds", "2", "--json"}));
  EXPECT_EQ(json["tool"], "lat_floor");
  EXPECT_EQ(operations_of(json), (std::vector<std::string>{"floor", "floor_each_way", "write"}));
  EXPECT_TRUE(json["cpus_share_a_core"].is_boolean());
  EXPECT_EQ(json["rows"][2]["bar"], 1.25);
}

// The figures of the baseline are edited, so that the outcome does not hang on the machine.
TEST(PerfCommands, ABaselinePassesOrFailsByExitStatus) {
  const Folder folder;
  const std::string file = folder / "base.json";
  const std::vector<std::string> measure = {"bw", "write", "--size", "4096", "--iterations", "200"};
  std::vector<std::string> save = measure;
  save.insert(save.end(), {"--save", file});
  EXPECT_EQ(tickpath(save).exit_code, 0);
  Json base = Json::parse(read_file(file));
  const auto compared = [&](double average) {
    base["rows"][0]["average_mb_s"] = average;
    write_file(file, base.dump());
    std::vector<std::string> compare = measure;
    compare.insert(compare.end(), {"--baseline", file, "--tolerance", "50"});
    return tickpath(compare);
  };
  EXPECT_THAT(compared(1e-3), Ends(0, "WRITE 4096"));
  EXPECT_THAT(compared(1e12), Ends(1, "worse than the baseline"));
  write_file(file, "no JSON");
  EXPECT_THAT(tickpath({"bw", "write", "--iterations", "200", "--baseline", file}),
              Ends(1, "not the JSON"));
}

TEST(PerfCommands, SayWhatIsWrongWithAnOptionOrItsPeer) {
  const Folder folder;
  const auto says = [](const std::vector<std::string>& arguments, const std::string& text) {
    EXPECT_THAT(tickpath(arguments), Ends(::testing::Ne(0), text));
  };
  says({"lat", "--size", "1"}, "--size 1: a message has 2 to 8388608 bytes");
  says({"bw", "fetch_add"}, "choose from: write send read");
  says({"lat", "send", "--size", "2097152"}, "a SEND of at most 1048576 bytes");
  says({"lat", "--inline", "100000"}, "takes at most 512 bytes inline");
  says({"lat", "--provider", "carrier_pigeon", "--endpoint", "x"}, "carrier_pigeon");
  says({"lat", "--security", "seal"}, "loopback");
  says({"bw", "--endpoint", folder / "nobody"}, "a server is started there by");
  says({"lat", "--endpoint", folder / "nobody", "--cpus", "0,1"}, "--cpus takes one CPU");
  says({"lat", "--forever"}, "--forever belongs to --server");
  says({"lat", "--perftest", "--iterations", "10", "--svg", "/nowhere/x.svg"}, "/nowhere/x.svg");
}

TEST(PerfCommands, AServerServesOneClientAtATimeWhichNoticesItsDeath) {
  const Folder folder;
  const std::string endpoint = folder / "server";
  Process server(command({"bw", "--server", "--endpoint", endpoint}));
  ASSERT_TRUE(server.wait_for_output("listening", kLimit));
  Process client(command({"lat", "send", "--endpoint", endpoint, "--duration", "30"}));
  ASSERT_TRUE(server.wait_for_output("serving", kLimit)) << server.output();
  EXPECT_THAT(tickpath({"lat", "send", "--endpoint", endpoint, "--iterations", "10"}),
              Ends(1, "busy with another client"));
  server.signal(SIGKILL);
  const Finished finished = client.wait(kLimit);
  EXPECT_FALSE(finished.timed_out);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.output, HasSubstr("gone"));
}

}  // namespace
}  // namespace tickpath::test_support
