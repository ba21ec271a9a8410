#include "oeg/venue_link.hpp"

#include <unistd.h>

namespace tickpath::oeg {

VenueLink::~VenueLink() {
  int socket = -1;
  while (sockets_.try_pop(socket)) ::close(socket);
}

void VenueLink::take_socket() noexcept {
  int socket = -1;
  if (sockets_.try_pop(socket)) [[unlikely]]
    session_.attach(socket);
}

}  // namespace tickpath::oeg
