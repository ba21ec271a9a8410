#include "common/wire/hello.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

namespace tickpath::wire {

Hello make_hello(Role role, Service service, std::string_view name, std::uint8_t instance) {
  Hello hello{};
  hello.role = role;
  hello.service = service;
  hello.instance = instance;
  hello.process_id = static_cast<std::uint32_t>(::getpid());
  std::memcpy(hello.name, name.data(), std::min(name.size(), sizeof(hello.name) - 1));
  return hello;
}

std::string name_of(const Hello& hello) {
  return {hello.name, ::strnlen(hello.name, sizeof(hello.name))};
}

}  // namespace tickpath::wire
