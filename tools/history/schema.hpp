// The schema (schema.sql) in the words of the store that is to have it, and the ready queries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tickpath::history {

struct Dialect {
  // False: a server before views, times of nanoseconds and codecs (Store::is_current): the tables
  // alone, a time as its number of nanoseconds. The bytes of a row are the same.
  bool current = true;
  // A cluster of a server's configuration (remote_servers). Not empty: each table TABLE is
  // TABLE_local on every host, and a Distributed table TABLE over them.
  std::string cluster;
  // Tables on the hosts are replicated by ZooKeeper or Keeper, and statements run ON CLUSTER.
  // False: they are plain, and each host needs the statements run on it.
  bool replicated = true;
};

// "ON CLUSTER 'name'", or empty. Throws Error for a name that is none.
std::string on_cluster(const Dialect& dialect);

// `schema`: as schema.sql, comments and all. One statement each, in their order.
std::vector<std::string> statements_of(std::string_view schema, const Dialect& dialect);
std::vector<std::string> schema_statements(const Dialect& dialect);

// A query of the folder queries/, by the name of its file.
struct ReadyQuery {
  std::string_view name;
  std::string_view sql;
  // Its first comment: what it answers, one line.
  std::string_view purpose() const noexcept;
};
const std::vector<ReadyQuery>& ready_queries();
// Throws Error that lists those that there are.
const ReadyQuery& ready_query(const std::string& name);

// `sql` with each {name} in place of its value, as a literal. Throws Error for a name without one.
using Values = std::vector<std::pair<std::string_view, std::string>>;
std::string filled_in(std::string_view sql, const Values& values);

}  // namespace tickpath::history
