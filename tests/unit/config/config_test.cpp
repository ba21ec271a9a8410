#include "common/config/config.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"
#include "tests/support/thrown.hpp"

namespace tickpath::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Pace : std::uint8_t { kRecorded, kFastest };

struct Plugin {
  std::string library;
  std::vector<std::string> symbols;
  Parameters parameters;
  std::string place;
};

struct Inner {
  std::int64_t first = 1;
  std::int64_t last = 9;
};

struct Sample {
  std::string name = "sample";
  std::uint16_t port = 7701;
  std::uint32_t slots = 64;
  double factor = 1.0;
  bool loop = false;
  Pace pace = Pace::kRecorded;
  std::int64_t timeout_ns = 1'000'000;
  std::uint64_t ring_bytes = 1 << 20;
  Address group{"239.255.7.1", 7701};
  std::vector<std::int64_t> cpus{0, 1};
  std::string file;
  std::vector<Plugin> plugins;
  Inner range;
};

Schema<Plugin> plugin_schema() {
  Schema<Plugin> schema;
  schema.path("library", &Plugin::library, "The shared object").required();
  schema.texts("symbols", &Plugin::symbols, "What it trades");
  schema.parameters("parameters", &Plugin::parameters, "For the plugin");
  schema.place(&Plugin::place);
  return schema;
}

Schema<Inner> inner_schema() {
  Schema<Inner> schema;
  schema.integer("first", &Inner::first, {0, 100}, "", "First of the range");
  schema.integer("last", &Inner::last, {0, 100}, "", "Last of the range");
  schema.check([](const Inner& inner, Problems& problems) {
    if (inner.last < inner.first) problems.add("last", "lies before first");
  });
  return schema;
}

Schema<Sample> sample_schema() {
  Schema<Sample> schema;
  schema.text("name", &Sample::name, "Its name");
  schema.integer("feed.port", &Sample::port, {1, 65535}, "", "UDP port");
  schema.integer("feed.slots", &Sample::slots, {1, 1024}, "slots", "Of the ring").power_of_two();
  schema.address("feed.group", &Sample::group, "Multicast group");
  schema.real("replay.factor", &Sample::factor, {0.01, 1000}, "times", "Pace");
  schema.flag("replay.loop", &Sample::loop, "Again and again");
  schema.choice("replay.pace", &Sample::pace,
                {{"recorded", Pace::kRecorded}, {"fastest", Pace::kFastest}}, "How fast");
  schema.path("replay.file", &Sample::file, "The recording").or_list();
  schema.duration("timeout", &Sample::timeout_ns, {1'000, 10'000'000'000}, "Patience");
  schema.size("ring", &Sample::ring_bytes, {4096, 1 << 30}, "Size of the ring");
  schema.integers("cpus", &Sample::cpus, {0, 63}, "", "CPUs");
  schema.tables("plugin", &Sample::plugins, plugin_schema(), {0, 4}, "Plugins");
  schema.include("range", &Sample::range, inner_schema());
  return schema;
}

Sample load(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return load_text(sample_schema(), text, "t.toml", overrides);
}

std::vector<std::string> problems_of(std::string_view text,
                                     const std::vector<std::string>& overrides = {}) {
  const auto error = test_support::thrown<ConfigError>([&] { load(text, overrides); });
  return error ? error->problems() : std::vector<std::string>{};
}

TEST(Config, AnEmptyTextGivesTheDefaultsOfTheStruct) {
  const Sample sample = load("");
  EXPECT_EQ(sample.port, 7701);
  EXPECT_EQ(sample.group, (Address{"239.255.7.1", 7701}));
  EXPECT_EQ(sample.cpus, (std::vector<std::int64_t>{0, 1}));
}

TEST(Config, ReadsEveryTypeOfValue) {
  const Sample sample = load(R"(
name = "x"
timeout = "50us"
ring = "8MiB"
cpus = [2, 3]
[feed]
port = 9000
group = "239.0.0.1:9001"
[replay]
factor = 2
loop = true
pace = "fastest"
file = "a/b.itch"
[range]
first = 3
[[plugin]]
library = "momentum.so"
symbols = ["AAPL", "MSFT"]
[plugin.parameters]
shares = 100
edge = 0.5
aggressive = true
label = "m"
[[plugin]]
library = "quoter.so"
)");
  EXPECT_EQ(sample.name, "x");
  EXPECT_EQ(sample.timeout_ns, 50'000);
  EXPECT_EQ(sample.ring_bytes, 8u << 20);
  EXPECT_THAT(sample.cpus, ElementsAre(2, 3));
  EXPECT_EQ(sample.port, 9000);
  EXPECT_EQ(sample.group, (Address{"239.0.0.1", 9001}));
  EXPECT_EQ(sample.factor, 2.0);
  EXPECT_TRUE(sample.loop);
  EXPECT_EQ(sample.pace, Pace::kFastest);
  EXPECT_EQ(sample.file, "a/b.itch");
  EXPECT_EQ(sample.range.first, 3);
  EXPECT_EQ(sample.range.last, 9);
  ASSERT_EQ(sample.plugins.size(), 2u);
  EXPECT_THAT(sample.plugins[0].symbols, ElementsAre("AAPL", "MSFT"));
  EXPECT_THAT(sample.plugins[0].parameters,
              testing::UnorderedElementsAre(Parameter{"shares", std::int64_t{100}},
                                            Parameter{"edge", 0.5}, Parameter{"aggressive", true},
                                            Parameter{"label", std::string("m")}));
  EXPECT_EQ(sample.plugins[1].library, "quoter.so");
}

TEST(Config, ReportsEveryProblemOfAFileTogetherWithLineKeyAndWhatIsAllowed) {
  EXPECT_THAT(
      problems_of("timeout = \"5 parsecs\"\n[feed]\nport = 70000\ngroup = \"nowhere\"\n"
                  "[replay]\npace = \"slow\"\nloop = 1\n"),
      testing::UnorderedElementsAre(
          "t.toml:1: timeout: found \"5 parsecs\"; allowed is a duration such as \"5ms\", from "
          "1us to 10s",
          "t.toml:3: feed.port: found 70000; allowed is an integer from 1 to 65535",
          "t.toml:4: feed.group: found \"nowhere\"; allowed is an address \"host:port\"",
          "t.toml:6: replay.pace: found \"slow\"; allowed is one of: \"recorded\" \"fastest\"",
          "t.toml:7: replay.loop: found 1; allowed is true or false"));
}

TEST(Config, SuggestsTheKeyThatWasMeant) {
  EXPECT_THAT(problems_of("[feed]\nprot = 1"),
              ElementsAre("t.toml:2: feed.prot: unknown key; did you mean 'feed.port'?"));
  EXPECT_THAT(problems_of("port = 1"),
              ElementsAre("t.toml:1: port: unknown key; did you mean 'feed.port'?"));
  EXPECT_THAT(problems_of("completely_unrelated_thing = 1"),
              ElementsAre(HasSubstr("unknown key; --print-config lists the known ones")));
}

TEST(Config, SuggestsTheSectionThatWasMeant) {
  EXPECT_THAT(problems_of("[fed]\nport = 1"),
              ElementsAre("t.toml:1: fed: unknown section; did you mean [feed]?"));
  EXPECT_THAT(problems_of("[[plugins]]\nlibrary = \"a.so\""),
              ElementsAre(HasSubstr("plugins: unknown key")));
  EXPECT_THAT(problems_of("[completely_other]\nport = 1"),
              ElementsAre(HasSubstr("unknown key; --print-config lists the known ones")));
}

TEST(Config, AScalarWhereASectionBelongsIsExplained) {
  EXPECT_THAT(problems_of("feed = 5"),
              ElementsAre("t.toml:1: feed: found 5; it is a section: write [feed]"));
}

TEST(Config, ASingleTableWhereAListBelongsIsExplained) {
  EXPECT_THAT(problems_of("[plugin]\nlibrary = \"a.so\""),
              ElementsAre("t.toml:1: plugin: found a table; write [[plugin]] before each"));
}

TEST(Config, AMissingRequiredKeyIsNamedWithItsElement) {
  EXPECT_THAT(problems_of("[[plugin]]\nlibrary = \"a.so\"\n[[plugin]]\nsymbols = []"),
              ElementsAre("t.toml: plugin.1.library: missing; give a path"));
}

TEST(Config, TooManyTablesAreRefused) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += "[[plugin]]\nlibrary = \"a.so\"\n";
  EXPECT_THAT(problems_of(text),
              ElementsAre("t.toml:1: plugin: found 5; allowed is 0 to 4 tables"));
}

TEST(Config, ChecksBetweenKeysBlameTheLineOfTheirKey) {
  EXPECT_THAT(problems_of("[range]\nfirst = 8\nlast = 7"),
              ElementsAre("t.toml:3: range.last: lies before first"));
  EXPECT_THAT(problems_of("[range]\nfirst = 50"),
              ElementsAre("t.toml: range.last: lies before first"));
}

TEST(Config, TextThatIsNotTomlNamesLineAndColumn) {
  EXPECT_THAT(problems_of("name = \"x\"\nfeed = ["), ElementsAre(HasSubstr("t.toml:2:")));
}

TEST(Config, ParametersAndTheirTableKnowWhereTheyStand) {
  const Sample sample = load(
      "\n[[plugin]]\nlibrary = \"a.so\"\n[plugin.parameters]\n shares =  100\nedge = 0.5\n"
      "[[plugin]]\nlibrary = \"b.so\"\n",
      {"plugin.0.parameters.edge=2"});
  ASSERT_EQ(sample.plugins.size(), 2u);
  EXPECT_EQ(sample.plugins[0].place, "t.toml:2:1");
  EXPECT_EQ(sample.plugins[1].place, "t.toml:7:1");
  for (const Parameter& parameter : sample.plugins[0].parameters) {
    EXPECT_EQ(parameter.place,
              parameter.key == "shares" ? "t.toml:5:12" : "--set plugin.0.parameters.edge=2");
  }
}

TEST(Config, OverridesWinOverTheFile) {
  const Sample sample =
      load("[feed]\nport = 1\n[[plugin]]\nlibrary = \"a.so\"\n",
           {"feed.port=2", "replay.factor=3", "replay.file=2020", "cpus=[5]", "timeout=2ms",
            "plugin.0.library=b.so", "plugin.0.parameters.shares=7", "replay.pace=fastest"});
  EXPECT_EQ(sample.port, 2);
  EXPECT_EQ(sample.factor, 3.0);
  EXPECT_EQ(sample.file, "2020");
  EXPECT_THAT(sample.cpus, ElementsAre(5));
  EXPECT_EQ(sample.timeout_ns, 2'000'000);
  EXPECT_EQ(sample.plugins[0].library, "b.so");
  EXPECT_EQ(sample.plugins[0].parameters, (Parameters{{"shares", std::int64_t{7}}}));
  EXPECT_EQ(sample.pace, Pace::kFastest);
}

TEST(Config, AWrongOverrideIsReportedAsTyped) {
  EXPECT_THAT(
      problems_of("", {"feed.port=0", "nonsense", "plugin.3.library=x"}),
      testing::UnorderedElementsAre(HasSubstr("--set feed.port=0: feed.port: found 0"),
                                    "--set nonsense: write --set key=value",
                                    HasSubstr("--set plugin.3.library=x: plugin: found a table")));
}

TEST(Config, APathMayBeAListWhereSeveralAreAllowed) {
  EXPECT_EQ(load("[replay]\nfile = [\"mon\", \"tue\"]\n").file, "mon,tue");
  EXPECT_EQ(load("", {"replay.file=mon,tue"}).file, "mon,tue");
  for (const char* list : {"[]", "[1]", "[\"a,b\"]"})
    EXPECT_THAT(problems_of(std::string("[replay]\nfile = ") + list + "\n"),
                ElementsAre(HasSubstr("allowed is a path, or a list of paths without commas")))
        << list;
  EXPECT_THAT(problems_of("[[plugin]]\nlibrary = [\"a.so\"]\n"),
              ElementsAre(HasSubstr("allowed is a path")));
}

TEST(Config, AnOverrideCannotSmuggleInAnotherKey) {
  EXPECT_EQ(load("", {"name=1\nfactor = 9"}).name, "1\nfactor = 9");
}

TEST(Config, PrintedConfigurationLoadsAgainToTheSameValues) {
  const Sample sample = load(R"(
name = "quo\"te\n"
timeout = "1500us"
ring = 5000
[replay]
factor = 0.1
[[plugin]]
library = "a.so"
[plugin.parameters]
"odd key" = 2.0
n = -5
[[plugin]]
library = "b.so"
)");
  const std::string printed = print_effective(sample_schema(), sample);
  EXPECT_THAT(printed, HasSubstr("# UDP port (an integer from 1 to 65535)\nport = 7701\n"));
  EXPECT_THAT(printed, HasSubstr("timeout = \"1500us\""));
  const Sample again = load(printed);
  EXPECT_EQ(print_effective(sample_schema(), again), printed);
  EXPECT_EQ(again.plugins[0].parameters, sample.plugins[0].parameters);
  EXPECT_EQ(again.ring_bytes, 5000u);
}

TEST(Config, SubstitutionReachesTextsListsTablesAndParameters) {
  Sample sample = load(R"(
[replay]
file = "{run_dir}/x/{run_dir}"
[[plugin]]
library = "{run_dir}/a.so"
symbols = ["{run_dir}"]
parameters = { file = "{run_dir}/p" }
)");
  substitute(sample_schema(), sample, "run_dir", "run");
  EXPECT_EQ(sample.file, "run/x/run");
  EXPECT_EQ(sample.plugins[0].library, "run/a.so");
  EXPECT_THAT(sample.plugins[0].symbols, ElementsAre("run"));
  EXPECT_EQ(sample.plugins[0].parameters, (Parameters{{"file", std::string("run/p")}}));
}

class ConfigFiles : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string problem(const std::string& path) {
    const auto error = test_support::thrown<ConfigError>([&] { load_file(sample_schema(), path); });
    return error ? error->what() : "loaded";
  }

  test_support::Folder folder_;
};

TEST_F(ConfigFiles, extends_merges_tables_and_replaces_everything_else) {
  put("demo/a.toml",
      "name = 'base'\ncpus = [1, 2]\n[feed]\nport = 7\nslots = 128\n"
      "[[plugin]]\nlibrary = 'a.so'\n[[plugin]]\nlibrary = 'b.so'\n");
  const std::string top = put("hot/a.toml",
                              "extends = '../demo/a.toml'\ncpus = [5]\n[feed]\nport = 9\n"
                              "[[plugin]]\nlibrary = 'c.so'\n");
  const Sample sample = load_file(sample_schema(), top, {"replay.loop=true"});
  EXPECT_EQ(sample.name, "base");
  EXPECT_THAT(sample.cpus, ElementsAre(5));
  EXPECT_EQ(sample.port, 9);
  EXPECT_EQ(sample.slots, 128u);
  EXPECT_TRUE(sample.loop);
  ASSERT_EQ(sample.plugins.size(), 1u);
  EXPECT_EQ(sample.plugins[0].library, "c.so");
  const Sample again = load_text(sample_schema(), read_merged_text(top), "merged");
  EXPECT_EQ(print_effective(sample_schema(), again),
            print_effective(sample_schema(), load_file(sample_schema(), top)));
  const std::string base = folder_ / "demo/a.toml";
  EXPECT_THAT(read_merged_text(base), HasSubstr("name = 'base'\ncpus = [1, 2]"))
      << "as it was written";
}

TEST_F(ConfigFiles, problems_name_the_file_of_the_two_where_the_line_stands) {
  put("a.toml", "[feed]\nport = 0\n");
  EXPECT_THAT(problem(put("b.toml", "extends = 'a.toml'\n[feed]\nslots = 64\n")),
              HasSubstr("/a.toml:2"));
  EXPECT_THAT(problem(put("c.toml", "extends = 'a.toml'\n[feed]\nslots = 64\nport = 70_000\n")),
              AllOf(HasSubstr("/c.toml:4"), ::testing::Not(HasSubstr("/a.toml"))));
}

TEST_F(ConfigFiles, extends_of_a_missing_file_a_circle_or_no_path_is_refused) {
  EXPECT_THAT(problem(put("a.toml", "\nextends = 'gone.toml'\n")),
              AllOf(HasSubstr("/a.toml:2: extends: there is no "), HasSubstr("gone.toml")));
  EXPECT_THAT(problem(put("b.toml", "extends = 'b.toml'\n")), HasSubstr("extend each other?"));
  EXPECT_THAT(problem(put("c.toml", "extends = 3\n")), HasSubstr("/c.toml:1: extends: allowed is"));
  put("bad.toml", "name = \n");
  EXPECT_THAT(problem(put("d.toml", "extends = 'bad.toml'\n")), HasSubstr("/bad.toml:1:"));
}

TEST_F(ConfigFiles, extends_of_a_file_that_others_can_write_is_refused) {
  const std::string base = put("a.toml", "name = 'x'\n");
  const std::string top = put("b.toml", "extends = 'a.toml'\n");
  EXPECT_EQ(problem(top), "loaded");
  std::filesystem::permissions(base, std::filesystem::perms{0666});
  EXPECT_THAT(problem(top), HasSubstr("/a.toml: is not read, as others could change it"));
}

TEST(Config, AMissingFileIsASystemErrorThatNamesIt) {
  const auto error =
      test_support::thrown<SystemError>([] { load_file(sample_schema(), "/nonexistent/x.toml"); });
  ASSERT_TRUE(error) << "loaded";
  EXPECT_THAT(error->what(), HasSubstr("/nonexistent/x.toml"));
  EXPECT_EQ(error->errno_value(), ENOENT);
}

TEST(Config, TakesAnIntegerByNameWhereItHasOne) {
  struct Pin {
    int cpu = -1;
  };
  Schema<Pin> schema;
  schema.integer("cpu", &Pin::cpu, {-1, 8}, "", "Where").or_named("auto", -2);
  EXPECT_EQ(load_text(schema, "cpu = \"auto\"", "x.toml").cpu, -2);
  EXPECT_EQ(load_text(schema, "cpu = 8", "x.toml").cpu, 8);
  EXPECT_EQ(load_text(schema, "", "x.toml", {"cpu=auto"}).cpu, -2);
  EXPECT_THROW(load_text(schema, "cpu = -2", "x.toml"), ConfigError);
  EXPECT_THROW(load_text(schema, "cpu = \"any\"", "x.toml"), ConfigError);
  const std::string printed = print_effective(schema, Pin{-2});
  EXPECT_THAT(printed, HasSubstr("cpu = \"auto\""));
  EXPECT_THAT(printed, HasSubstr("or \"auto\""));
}

TEST(Config, RefusesWhatIsNoPowerOfTwoWhereOneIsNeeded) {
  EXPECT_EQ(load("feed.slots = 1").slots, 1u);
  EXPECT_EQ(load("feed.slots = 1024").slots, 1024u);
  for (const char* text : {"feed.slots = 0", "feed.slots = 96", "feed.slots = -64"})
    EXPECT_THAT(problems_of(text), ElementsAre(HasSubstr("a power of two"))) << text;
  EXPECT_THAT(print_effective(sample_schema(), Sample{}), HasSubstr("slots, a power of two"));
}

}  // namespace
}  // namespace tickpath::config
