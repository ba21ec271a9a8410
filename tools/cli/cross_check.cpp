#include "tools/cli/cross_check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "common/base/error.hpp"
#include "common/control/feed_endpoints.hpp"
#include "tools/cli/cross_check_endpoints.hpp"
#include "tools/cli/effective_config.hpp"
#include "tools/cli/shared_processes.hpp"

namespace tickpath::cli {
namespace {

struct Program {
  const EffectiveConfig& config;
  toml::table values;

  std::optional<std::string> text(const std::string& key) const {
    return text_of(config, values, key);
  }
  std::optional<std::int64_t> number(const std::string& key) const {
    return values.at_path(key).value<std::int64_t>();
  }
  // "config/demo/mdh.toml: feed.group"
  std::string at(const std::string& key) const { return config.path + ": " + key; }
};

bool apart(const Program& a, const Program& b) { return a.config.machine != b.config.machine; }

// Whether an endpoint means nothing to one of two programs, or something else. Hosts of one machine
// share files and addresses, and each takes a path that is not absolute from a folder of its own.
bool is_local(const std::string& endpoint, const Program& a, const Program& b) {
  if (const auto address = address_of(endpoint)) return apart(a, b) && is_loopback(address->host);
  return apart(a, b) || (a.config.host != b.config.host && !endpoint.starts_with('/'));
}

std::string place_of(const Program& program) {
  return program.config.path +
         (program.config.host.empty() ? " runs here" : " on " + program.config.host);
}

class CrossCheck {
 public:
  explicit CrossCheck(const std::vector<EffectiveConfig>& configs) {
    for (const EffectiveConfig& config : configs) {
      programs_[config.program].push_back({config, parsed(config)});
    }
  }

  std::vector<std::string> run(bool whole) {
    if (whole) missing();
    feed();
    endpoints_by_venue("strategy", whole);
    endpoints_by_venue("risk", whole);
    endpoints("oeg", {"mdh.endpoint", "mdh.endpoint_b"}, "mdh", whole);
    pairs(whole);
    risks();
    venue();
    venue_numbers();
    shards();
    home_lanes();
    room();
    strategies();
    return std::move(problems_);
  }

 private:
  const std::vector<Program>& all(const std::string& program) { return programs_[program]; }

  // ---- programs that are not there

  void missing() {
    needs("strategy", "feed.endpoint", "mdh", "it would wait for market data");
    needs("strategy", "gateway.endpoint", "oeg", "it could send no order");
    needs("risk", "feed.endpoint", "mdh", "it would wait for market data");
    needs("risk", "gateway.endpoint", "oeg", "it would have nothing to watch");
    for (const Program& oeg : all("oeg")) {
      if (oeg.number("limits.collar_basis_points").value_or(0) != 0 && all("mdh").empty())
        lacks(oeg, "limits.collar_basis_points", "mdh", "it would wait for market data");
      if (oeg.values.at_path("risk.required").value_or(false) && all("risk").empty())
        lacks(oeg, "risk.required", "risk", "it would refuse every new order");
    }
  }
  void needs(const std::string& program, const std::string& key, const std::string& other,
             const std::string& what) {
    for (const Program& each : all(program))
      if (each.text(key) && all(other).empty()) lacks(each, key, other, what);
  }
  void lacks(const Program& program, const std::string& key, const std::string& other,
             const std::string& what) {
    problems_.push_back(program.at(key) + " asks for " + other + ", and there is no " + other +
                        ".toml: " + what + ". Add one, or, where " + other +
                        " runs elsewhere, name with --only what is to start here");
  }

  // ---- between sim and mdh

  void feed() {
    for (const Program& mdh : all("mdh")) {
      same(mdh, "feed.protocol", "feed.protocol", "the two would not understand each other");
      same(mdh, "feed.group", "feed.group", "mdh would hear nothing");
      if (mdh.text("feed.group_b").value_or("") != "")
        same(mdh, "feed.group_b", "feed.group_b", "mdh would hear nothing on line B");
      server(mdh, "feed.snapshot.server", "feed.snapshot.listen");
      server(mdh, "feed.retransmission.server", "feed.retransmission.listen");
    }
  }
  void same(const Program& mdh, const std::string& key, const std::string& key_of_sim,
            const std::string& what) {
    const auto own = mdh.text(key);
    const Program* other = nullptr;
    for (const Program& sim : all("sim")) {
      if (sim.text(key_of_sim) == own) return feed_between(mdh, key, sim);
      other = &sim;
    }
    if (own && other != nullptr && other->text(key_of_sim))
      differ(mdh, key, *other, key_of_sim, what);
  }
  void server(const Program& mdh, const std::string& key, const std::string& key_of_sim) {
    const auto own = mdh.text(key);
    if (!own || own->empty()) return;
    const Program* other = nullptr;
    for (const Program& sim : all("sim")) {
      if (const auto listens = sim.text(key_of_sim); listens && reaches(*own, *listens))
        return between(mdh, key, *own, sim, *listens);
      other = &sim;
    }
    if (other != nullptr && other->text(key_of_sim))
      differ(mdh, key, *other, key_of_sim, "mdh would ask in vain");
  }

  // ---- between hosts

  // `own` is what `program` has at `key`; the listener has `listens`.
  void between(const Program& program, const std::string& key, const std::string& own,
               const Program& listener, const std::string& listens) {
    if (!is_local(own, program, listener) && !is_local(listens, program, listener)) return;
    problems_.push_back(program.at(key) + " is " + own + ", and " + listener.config.path +
                        " listens at " + listens +
                        ", which is reached from its own host alone: " + place_of(program) + ", " +
                        place_of(listener) + ". Give the host's address and a port");
  }
  void feed_between(const Program& mdh, const std::string& key, const Program& sim) {
    if (!key.starts_with("feed.group") || !apart(mdh, sim)) return;
    for (const Program* each : {&mdh, &sim})
      if (const auto interface = each->text("feed.interface"); interface && is_loopback(*interface))
        problems_.push_back(each->at("feed.interface") + " is " + *interface +
                            ", and the feed goes from host to host: give the address of the "
                            "interface that it goes by");
    if (sim.number("feed.ttl").value_or(1) == 0)
      problems_.push_back(sim.at("feed.ttl") + " is 0, which keeps the feed on its host, and " +
                          place_of(mdh) + ": give 1");
  }

  // ---- on the fabric

  // keys: of one server, or of the two of a pair, of which one may be on another host.
  using Keys = std::array<std::string, 2>;
  void endpoints(const std::string& program, const Keys& keys, const std::string& server,
                 bool whole) {
    for (const Program& each : all(program)) endpoints(each, keys, server, whole);
  }
  void endpoints(const Program& each, const Keys& keys, const std::string& server, bool whole) {
    const bool pair = !each.text(keys[1]).value_or("").empty();
    if (pair && !whole && (listens(each, keys[0], server) || listens(each, keys[1], server)))
      return;
    for (const std::string& key : keys)
      endpoints_of(each, key, server, each.config.name + " would wait for " + server + " in vain");
  }
  void endpoints_by_venue(const std::string& program, bool whole) {
    for (const Program& each : all(program))
      for (const auto& [at, number, shard] : venues_of(each)) {
        endpoints(each, {at + "feed.endpoint", at + "feed.endpoint_b"}, "mdh", whole);
        endpoints(each, {at + "gateway.endpoint", at + "gateway.standby_endpoint"}, "oeg", whole);
      }
  }
  // A [[venue]]: what stands before its keys, "venue[0]." or "" without one, its number, and which
  // shard of the venue it is of.
  struct Stack {
    std::string at;
    std::int64_t number;
    std::string shard;
  };
  static std::vector<Stack> venues_of(const Program& client) {
    const toml::array* const venues = client.values["venue"].as_array();
    if (venues == nullptr || venues->empty()) return {{"", venue_of(client), ""}};
    std::vector<Stack> all;
    std::vector<std::string> names;  // of venues, as listed: shards of one have one
    for (std::size_t i = 0; i < venues->size(); ++i) {
      const std::string at = "venue[" + std::to_string(i) + "].";
      const std::string name = client.text(at + "name").value_or("");
      const auto place = std::find(names.begin(), names.end(), name) - names.begin();
      if (place == std::ssize(names)) names.push_back(name);
      const std::int64_t given = client.number(at + "number").value_or(0);
      all.push_back({at, given != 0 ? given : place + 1, client.text(at + "shard").value_or("")});
    }
    return all;
  }
  static std::int64_t venue_of(const Program& program) {
    return program.number("venue_number").value_or(0);
  }
  bool listens(const Program& client, const std::string& key, const std::string& server) {
    const auto own = client.text(key);
    return own && std::any_of(all(server).begin(), all(server).end(), [&](const Program& each) {
             const auto at = each.text("fabric.endpoint");
             return at && reaches(*own, *at);
           });
  }
  void endpoints_of(const Program& program, const std::string& key, const std::string& server,
                    const std::string& what) {
    const auto own = program.text(key);
    const Program* other = nullptr;
    bool found = !own || own->empty();
    for (const Program& listener : all(server)) {
      const auto listens = listener.text("fabric.endpoint");
      if (!listens) continue;
      other = &listener;
      if (!own || own->empty() || !reaches(*own, *listens)) continue;
      found = true;
      between(program, key, *own, listener, *listens);
    }
    if (!found && other != nullptr) differ(program, key, *other, "fabric.endpoint", what);
  }

  // ---- a pair of oegs

  void pairs(bool whole) {
    // The other of a pair may be on another host, and is then none of those here.
    const bool both = whole || all("oeg").size() > 1;
    std::map<std::tuple<std::int64_t, std::string, std::int64_t>, const Program*> places;
    for (const Program& oeg : all("oeg")) {
      const std::int64_t place = oeg.number("pair.place").value_or(0);
      const std::int64_t venue = venue_of(oeg);
      if (place == 0) continue;
      // Each venue, or shard of one, has one oeg of each place.
      const std::string shard = oeg.text("mdh.shard").value_or("");
      const auto [other, fresh] = places.emplace(std::tuple(venue, shard, place), &oeg);
      if (!fresh)
        problems_.push_back(oeg.at("pair.place") + " " + std::to_string(place) + " is in " +
                            other->second->config.path +
                            " already: the two of a pair have 1 and 2");
      if (both)
        endpoints_of(oeg, "pair.peer", "oeg", "it would wait for the other of its pair in vain");
      endpoints_of(oeg, "pair.witness", "risk", "nobody would say who leads");
      if (whole || all("risk").size() > 1)
        endpoints_of(oeg, "pair.witness_standby", "risk", "it would look for that risk in vain");
      if (oeg.text("pair.peer") && oeg.text("fabric.endpoint") &&
          reaches(*oeg.text("pair.peer"), *oeg.text("fabric.endpoint")))
        problems_.push_back(oeg.at("pair.peer") + " is this oeg itself: name the other one");
      halves(oeg);
      for (const Program& risk : all("risk"))
        for (const Stack& stack : venues_of(risk))
          if (stack.number == venue && watches(risk, oeg)) of_pair(risk, stack.at, oeg);
      for (const Program& strategy : all("strategy"))
        for (const Stack& stack : venues_of(strategy))
          if (stack.number == venue && stack.shard == shard) of_pair(strategy, stack.at, oeg);
    }
  }
  // An oeg lets nobody join that is not of its session and shard (OegConfig::pair_id). Of hosts
  // that are known by name alone several may be meant.
  void halves(const Program& oeg) {
    std::vector<std::string> wrong;
    for (const Program& peer : all("oeg")) {
      if (&peer == &oeg || !names(oeg, peer)) continue;
      wrong = of_another_pair(oeg, peer);
      if (wrong.empty()) return;
    }
    problems_.insert(problems_.end(), wrong.begin(), wrong.end());
  }
  static bool names(const Program& oeg, const Program& peer) {
    return reaches(oeg.text("pair.peer").value_or(""), peer.text("fabric.endpoint").value_or("-"));
  }
  static std::vector<std::string> of_another_pair(const Program& oeg, const Program& peer) {
    std::vector<std::string> wrong;
    // As OegConfig::pair_id().
    for (const std::string key :
         {"venue.sender", "venue.target", "venue.version", "venue_number", "mdh.shard"}) {
      const auto value = [&key](const Program& each) {
        return key == "venue_number" ? std::to_string(venue_of(each)) : each.text(key).value_or("");
      };
      const std::string own = value(oeg);
      if (own == value(peer)) continue;
      wrong.push_back(oeg.at(key) + " is \"" + own + "\", and " + peer.config.path +
                      ", which pair.peer names, has another: they are no pair");
    }
    if (!names(peer, oeg))
      wrong.push_back(peer.at("pair.peer") + " does not name " + oeg.config.path +
                      ", whose pair.peer names it: the two of a pair name each other");
    return wrong;
  }
  // Each oeg of a venue in shards has a risk of its own.
  static bool watches(const Program& risk, const Program& oeg) {
    const std::string at = oeg.text("fabric.endpoint").value_or("");
    const std::set<std::string> oegs = oegs_of(risk);
    return oeg.text("mdh.shard").value_or("").empty() ||
           std::any_of(oegs.begin(), oegs.end(),
                       [&](const std::string& each) { return reaches(each, at); });
  }

  void of_pair(const Program& client, const std::string& at, const Program& oeg) {
    if (client.config.program == "risk" &&
        !client.values.at_path("witness.enabled").value_or(false))
      problems_.push_back(client.at("witness.enabled") + " is false, and " + oeg.config.path +
                          " is one of a pair: nobody would say who leads");
    sees_both(client, at, oeg);
  }
  void sees_both(const Program& client, const std::string& at, const Program& oeg) {
    const std::string key = at + "gateway.standby_endpoint";
    if (client.text(key).value_or("").empty())
      problems_.push_back(client.at(key) + " is empty, and " + oeg.config.path +
                          " is one of a pair: it would not see the other one lead");
  }

  // ---- two risks of one oeg, or one pair

  void risks() {
    const std::vector<Program>& list = all("risk");
    for (std::size_t i = 0; i < list.size(); ++i)
      for (std::size_t j = i + 1; j < list.size(); ++j)
        if (have_one_oeg(list[i], list[j])) second_risk(list[i], list[j]);
  }
  static std::set<std::string> oegs_of(const Program& risk) {
    std::set<std::string> oegs;
    for (const Stack& stack : venues_of(risk))
      for (const char* key : {"gateway.endpoint", "gateway.standby_endpoint"})
        if (const std::string at = risk.text(stack.at + key).value_or(""); !at.empty())
          oegs.insert(at);
    return oegs;
  }
  static bool have_one_oeg(const Program& a, const Program& b) {
    const std::set<std::string> others = oegs_of(b);
    const std::set<std::string> own = oegs_of(a);
    return std::any_of(own.begin(), own.end(),
                       [&](const std::string& each) { return others.contains(each); });
  }
  // Whichever of the two is active, the same holds.
  void second_risk(const Program& a, const Program& b) {
    if (venues_of(a).size() > 1 || venues_of(b).size() > 1) {
      problems_.push_back(a.at("venue") + " and " + b.at("venue") +
                          " name an oeg in common: a risk over several venues has none beside it "
                          "that stands by");
      return;
    }
    if (oegs_of(a) != oegs_of(b))
      problems_.push_back(a.at("gateway") + " and " + b.at("gateway") +
                          " name one oeg in common and another one not: two risks of which one "
                          "stands by have the same oegs");
    for (const char* key : {"order_limits", "limits", "total", "strategy", "kills.cancel_orders"})
      if (text_of(a, key) != text_of(b, key))
        problems_.push_back(a.at(key) + " differs from " + b.at(key) +
                            ": the limits would change with the risk that is active");
    if (a.text("kills.file") == b.text("kills.file"))
      problems_.push_back(a.at("kills.file") + " is that of " + b.config.path +
                          ": each keeps its own");
    const auto is_witness = [](const Program& risk) {
      return risk.values.at_path("witness.enabled").value_or(false);
    };
    if (!is_witness(a) || !is_witness(b)) return;
    for (const Program& oeg : all("oeg"))
      if (oeg.number("pair.place").value_or(0) != 0 &&
          oeg.text("pair.witness_standby").value_or("").empty())
        problems_.push_back(oeg.at("pair.witness_standby") + " is empty, and " + a.config.path +
                            " and " + b.config.path +
                            " are both witnesses: it would know one of them only");
  }
  static std::string text_of(const Program& program, const char* key) {
    std::ostringstream text;
    program.values.at_path(key).visit([&](const auto& node) { text << node; });
    return text.str();
  }

  // ---- between oeg and sim

  void venue() {
    for (const Program& oeg : all("oeg")) {
      const auto address = oeg.text("venue.address");
      if (!address || all("sim").empty()) continue;
      std::string sessions;
      bool found = false;
      for (const Program& sim : all("sim"))
        if (const toml::array* const list = sim.values.at_path("orders.session").as_array())
          for (const toml::node& node : *list) {
            const toml::table& session = *node.as_table();
            const auto word = [&](const char* key) { return session[key].value_or(std::string()); };
            const bool fits = reaches(*address, word("listen")) &&
                              oeg.text("venue.sender") == word("target") &&
                              oeg.text("venue.target") == word("sender") &&
                              oeg.text("venue.version") == word("version");
            if (fits) between(oeg, "venue.address", *address, sim, word("listen"));
            found = found || fits;
            sessions += "; " + sim.config.path + " has " + word("target") + " to " +
                        word("sender") + ", FIX " + word("version") + ", at " + word("listen");
          }
      if (!found && !sessions.empty())
        problems_.push_back(oeg.at("venue") + ": sim has no [[orders.session]] for " +
                            oeg.text("venue.sender").value_or("?") + " to " +
                            oeg.text("venue.target").value_or("?") + ", FIX " +
                            oeg.text("venue.version").value_or("?") + ", at " + *address +
                            sessions);
    }
  }

  // The wiring says which venue a program is of; so must its venue_number, or the books
  // and traces of two venues would be mixed.
  void venue_numbers() {
    for (const char* client : {"strategy", "risk"})
      for (const Program& each : all(client))
        for (const auto& [at, number, shard] : venues_of(each)) {
          number_of(each, at + "feed.endpoint", number, "mdh");
          number_of(each, at + "gateway.endpoint", number, "oeg");
        }
    for (const Program& oeg : all("oeg")) number_of(oeg, "mdh.endpoint", venue_of(oeg), "mdh");
    for (const Program& mdh : all("mdh"))
      for (const Program& sim : all("sim"))
        if (mdh.text("feed.group") && mdh.text("feed.group") == sim.text("feed.group"))
          same_number(mdh, "feed.group", venue_of(mdh), sim);
  }
  void number_of(const Program& client, const std::string& key, std::int64_t number,
                 const std::string& server) {
    for (const Program* each : found(client, key, server)) same_number(client, key, number, *each);
  }
  void same_number(const Program& client, const std::string& key, std::int64_t number,
                   const Program& server) {
    const std::int64_t other = venue_of(server);
    if (other == number) return;
    problems_.push_back(server.at("venue_number") + " is " + std::to_string(other) + ", and " +
                        client.at(key) + " takes it for a program of venue " +
                        std::to_string(number) + ": both have the same number");
  }

  // ---- shards of a venue

  // Each of these refuses who needs another shard than it has; here all is said at once.
  void shards() {
    for (const Program& strategy : all("strategy"))
      for (const auto& [at, number, shard] : venues_of(strategy)) {
        const Sharded own{strategy, at + "shard", control::shard_of(shard)};
        same_shard(own, {at + "feed.endpoint", at + "feed.endpoint_b"}, "mdh", "feed.shard");
        same_shard(own, {at + "gateway.endpoint", at + "gateway.standby_endpoint"}, "oeg",
                   "mdh.shard");
      }
    for (const Program& oeg : all("oeg"))
      same_shard({oeg, "mdh.shard", shard_of(oeg, "mdh.shard")}, {"mdh.endpoint", "mdh.endpoint_b"},
                 "mdh", "feed.shard");
    // Risk takes what there is: its prices must be those of what its oeg trades.
    for (const Program& risk : all("risk"))
      if (const auto mdhs = found(risk, "feed.endpoint", "mdh"); mdhs.size() == 1)
        same_shard({risk, "feed.endpoint", shard_of(*mdhs.front(), "feed.shard")},
                   {"gateway.endpoint", "gateway.standby_endpoint"}, "oeg", "mdh.shard");
  }
  struct Sharded {
    const Program& program;
    std::string key;  // that says it, or follows from it
    wire::Shard shard;
  };
  void same_shard(const Sharded& client, const Keys& endpoints, const std::string& server,
                  const std::string& key_of_server) {
    for (const std::string& key : endpoints) {
      const std::vector<const Program*> others = found(client.program, key, server);
      // Several may be meant (names are not resolved): one that fits is enough.
      if (others.empty() || std::any_of(others.begin(), others.end(), [&](const Program* each) {
            return shard_of(*each, key_of_server) == client.shard;
          }))
        continue;
      problems_.push_back(client.program.at(client.key) + " is of " + part(client.shard) +
                          ", and " + others.front()->at(key_of_server) + ", where " + key +
                          " leads, of " + part(shard_of(*others.front(), key_of_server)) +
                          ": both have the same symbols");
    }
  }
  static wire::Shard shard_of(const Program& program, const std::string& key) {
    return control::shard_of(program.text(key).value_or(""));
  }
  static std::string part(wire::Shard shard) {
    return shard.whole() ? "all symbols" : "shard " + shard.text();
  }
  // The programs that may listen where a key leads.
  std::vector<const Program*> found(const Program& client, const std::string& key,
                                    const std::string& server) {
    std::vector<const Program*> found;
    const auto own = client.text(key);
    for (const Program& each : all(server))
      if (const auto at = each.text("fabric.endpoint"); own && at && reaches(*own, *at))
        found.push_back(&each);
    return found;
  }

  // Each mdh that writes into a book home has a lane there.
  void home_lanes() {
    for (const Program& owner : all("mdh")) {
      if (!owner.values.at_path("home.keep").value_or(false)) continue;
      const auto lanes = owner.number("home.writers");
      std::int64_t writers = 1;
      for (const Program& mdh : all("mdh"))
        if (const auto homes = found(mdh, "home.endpoint", "mdh");
            &mdh != &owner && homes.size() == 1 && homes.front() == &owner)
          ++writers;
      if (lanes && *lanes < writers)
        problems_.push_back(owner.at("home.writers") + " is " + std::to_string(*lanes) + ", and " +
                            std::to_string(writers) + " mdh's write into this home: raise it");
    }
  }

  // ---- room and names

  void room() {
    for (const Program& mdh : all("mdh"))
      for (const char* program : {"strategy", "risk"})
        for (const Program& reader : all(program)) {
          const auto own = reader.number("instruments_max");
          const auto needed = mdh.number("instruments_max");
          if (own && needed && *own < *needed)
            problems_.push_back(reader.at("instruments_max") + " is " + std::to_string(*own) +
                                ", less than the " + std::to_string(*needed) + " of " +
                                mdh.config.path);
        }
  }

  void strategies() {
    std::map<std::int64_t, const Program*> ids;
    for (const Program& strategy : all("strategy")) {
      const toml::array* const plugins = strategy.values["plugin"].as_array();
      if (plugins == nullptr) continue;
      for (const toml::node& node : *plugins) {
        const toml::table& plugin = *node.as_table();
        if (!plugin["enabled"].value_or(true)) continue;
        const std::int64_t id = plugin["id"].value_or(std::int64_t{0});
        const auto [other, fresh] = ids.emplace(id, &strategy);
        if (!fresh)
          problems_.push_back(strategy.at("plugin.id") + " " + std::to_string(id) + " is in " +
                              other->second->config.path +
                              " already: each strategy of a pipeline has an id of its own");
      }
    }
    for (const auto& [program, key] :
         {std::pair("oeg", "strategies.max"), {"risk", "strategies_max"}})
      for (const Program& each : all(program))
        if (const auto max = each.number(key); max && static_cast<std::int64_t>(ids.size()) > *max)
          problems_.push_back(each.at(key) + " is " + std::to_string(*max) + ", and " +
                              std::to_string(ids.size()) + " plugins are enabled: raise it");
  }

  void differ(const Program& a, const std::string& key_a, const Program& b,
              const std::string& key_b, const std::string& what) {
    problems_.push_back(a.at(key_a) + " is " + a.text(key_a).value_or("?") + ", " + b.at(key_b) +
                        " is " + b.text(key_b).value_or("?") + ": " + what);
  }

  std::map<std::string, std::vector<Program>> programs_;
  std::vector<std::string> problems_;
};

}  // namespace

toml::table parsed(const EffectiveConfig& config) {
  try {
    return toml::parse(config.text);
  } catch (const toml::parse_error& error) {
    throw Error(config.path + ": --print-config is not TOML: " + std::string(error.description()));
  }
}

std::optional<std::string> text_of(const EffectiveConfig& config, const toml::table& values,
                                   const std::string& key) {
  std::optional<std::string> found = values.at_path(key).value<std::string>();
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const std::size_t at = found->find(from); at != std::string::npos)
      found->replace(at, from.size(), to);
  };
  if (!found) return found;
  replace("{run_dir}", values["run_dir"].value_or(std::string("run")));
  replace("{name}", config.name);
  return found;
}

std::vector<std::string> cross_check(const std::vector<EffectiveConfig>& configs, bool whole) {
  std::vector<std::string> problems = CrossCheck(configs).run(whole);
  for (std::string& problem : check_processes(configs)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace tickpath::cli
