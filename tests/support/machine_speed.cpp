// A fixed piece of compiling for machine_speed.sh. A change of this file changes what every bound
// means.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

template <int N>
struct Row {
  std::map<std::string, std::vector<int>> by_name;
  std::unordered_map<int, std::function<int(int)>> by_id;

  int sum(const std::string& name) {
    int total = N;
    for (const int each : by_name[name]) total += by_id[each](each);
    std::sort(by_name[name].begin(), by_name[name].end(),
              [](int a, int b) { return a % N < b % N; });
    return total;
  }
};

template <int N>
int all(const std::string& text) {
  if constexpr (N == 0) {
    return 0;
  } else {
    return Row<N>{}.sum(text) + all<N - 1>(text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::regex digits("([0-9]+)(?:,([0-9]+))*");
  return argc > 1 && std::regex_match(argv[1], digits) ? all<4>(argv[1]) : 0;
}
