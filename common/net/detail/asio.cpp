// Asio's non-template code, for every target that links tickpath_asio
// (BOOST_ASIO_SEPARATE_COMPILATION, "Using, Building, and Configuring Asio").
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
