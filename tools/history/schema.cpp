#include "tools/history/schema.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "common/base/error.hpp"
#include "tools/history/detail/sql_texts.hpp"
#include "tools/history/store.hpp"

namespace tickpath::history {
namespace {

constexpr std::string_view kTable = "CREATE TABLE IF NOT EXISTS ";
constexpr std::string_view kView = "CREATE OR REPLACE VIEW ";
constexpr std::string_view kEngine = "ENGINE = ReplacingMergeTree";
constexpr std::string_view kShardedBy = "-- sharded by: ";

struct Statement {
  std::string text;
  std::string sharded_by;
};

std::vector<Statement> split(std::string_view schema) {
  std::vector<Statement> statements;
  Statement next;
  while (!schema.empty()) {
    std::string_view line = schema.substr(0, schema.find('\n'));
    schema.remove_prefix(std::min(line.size() + 1, schema.size()));
    if (line.starts_with(kShardedBy)) next.sharded_by = line.substr(kShardedBy.size());
    line = line.substr(0, line.find("--"));
    const std::size_t end = line.find_last_not_of(' ');
    if (end == line.npos) continue;
    line = line.substr(0, end + 1);
    const bool last = line.ends_with(';');
    if (last) line.remove_suffix(1);
    next.text += line;
    next.text += '\n';
    if (!last) continue;
    statements.push_back(std::move(next));
    next = {};
  }
  return statements;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
}

void make_old(std::string& text) {
  text = std::regex_replace(text, std::regex(R"(DateTime64\(9, 'UTC'\))"), "Int64");
  text = std::regex_replace(text, std::regex(R"(LowCardinality\((\w+)\))"), "$1");
  text = std::regex_replace(text, std::regex(R"( CODEC\((\w+, )*\w+\))"), "");
}

void distribute(const Statement& statement, std::string text, const Dialect& dialect,
                std::vector<std::string>& result) {
  const std::string on = on_cluster(dialect);
  const std::size_t begin = kTable.size();
  const std::string name = text.substr(begin, text.find('\n') - begin);
  const std::string local = name + "_local";
  replace(text, std::string(kTable) + name, std::string(kTable) + local + on);
  if (dialect.replicated) {
    const std::string where =
        "('/clickhouse/tables/{shard}/" + std::string(kDatabase) + "/" + local + "', '{replica}'";
    replace(text, std::string(kEngine) + "(",
            "ENGINE = ReplicatedReplacingMergeTree" + where + ", ");
    replace(text, std::string(kEngine) + "\n",
            "ENGINE = ReplicatedReplacingMergeTree" + where + ")\n");
  }
  result.push_back(std::move(text));
  result.push_back(std::string(kTable) + name + on + " AS " + kDatabase + "." + local +
                   "\nENGINE = Distributed(" + literal(dialect.cluster) + ", " + kDatabase + ", " +
                   local + ", " + statement.sharded_by + ")\n");
}

}  // namespace

std::string on_cluster(const Dialect& dialect) {
  for (const char each : dialect.cluster)
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '_' && each != '-')
      throw Error("'" + dialect.cluster + "' is no name of a cluster: letters, digits, _ and -");
  if (dialect.cluster.empty() || !dialect.replicated) return {};
  return " ON CLUSTER " + literal(dialect.cluster);
}

std::vector<std::string> statements_of(std::string_view schema, const Dialect& dialect) {
  std::vector<std::string> result;
  for (const Statement& statement : split(schema)) {
    std::string text = statement.text;
    if (text.starts_with(kView)) {
      if (!dialect.current) continue;
      replace(text, " AS\n", on_cluster(dialect) + " AS\n");
      result.push_back(std::move(text));
      continue;
    }
    if (!dialect.current) make_old(text);
    if (dialect.cluster.empty())
      result.push_back(std::move(text));
    else
      distribute(statement, std::move(text), dialect, result);
  }
  return result;
}

std::vector<std::string> schema_statements(const Dialect& dialect) {
  return statements_of(detail::kSchema, dialect);
}

std::string_view ReadyQuery::purpose() const noexcept {
  std::string_view line = sql.substr(0, sql.find('\n'));
  if (line.starts_with("-- ")) line.remove_prefix(3);
  return line;
}

const std::vector<ReadyQuery>& ready_queries() {
  static const std::vector<ReadyQuery> queries = [] {
    std::vector<ReadyQuery> all;
    for (const auto& [name, sql] : detail::kQueries) all.push_back({name, sql});
    return all;
  }();
  return queries;
}

const ReadyQuery& ready_query(const std::string& name) {
  std::string names;
  for (const ReadyQuery& each : ready_queries()) {
    if (each.name == name) return each;
    names += "\n  " + std::string(each.name) + ": " + std::string(each.purpose());
  }
  throw Error("no query is called '" + name + "'; there are:" + names);
}

std::string filled_in(std::string_view sql, const Values& values) {
  std::string result;
  while (!sql.empty()) {
    const std::size_t open = sql.find('{');
    result += sql.substr(0, open);
    if (open == sql.npos) break;
    const std::size_t close = sql.find('}', open);
    const std::string_view name = sql.substr(open + 1, close - open - 1);
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (close == sql.npos || found == values.end())
      throw Error("the query has no value for {" + std::string(name) + "}");
    result += literal(found->second);
    sql.remove_prefix(close + 1);
  }
  return result;
}

}  // namespace tickpath::history
