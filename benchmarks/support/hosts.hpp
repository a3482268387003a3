// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hosts with addresses of their own on one machine: network namespaces behind a switch.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace assay::benchmark {

/// Hosts 1, 2, ... with the addresses 10.51.0.N and fd51::N. The process that makes them leaves its
/// network for the switch's, which is host 254. All of it ends with the processes that are in it.
class hosts {
 public:
  /// Throws `std::runtime_error` with the reason where this machine does not permit it.
  explicit hosts(int count) {
    leave_network();
    switch_ = this_network();
    ip("link add name switch type bridge mcast_snooping 0");
    give("switch", 254);
    for (int i = 1; i <= count; ++i) {
      leave_network();
      networks_.push_back(this_network());
      enter(switch_);
      ip("link add name port" + std::to_string(i) + " type veth peer name wire netns /proc/" +
         std::to_string(::getpid()) + "/fd/" + std::to_string(networks_.back()));
      ip("link set dev port" + std::to_string(i) + " master switch up");
      go_to(i);
      give("wire", i);
      ip("link set dev lo up");
      enter(switch_);
    }
  }
  hosts(hosts const&) = delete;
  hosts& operator=(hosts const&) = delete;
  ~hosts() {
    for (int const each : networks_) { ::close(each); }
    ::close(switch_);
  }

  static std::string address(int host, bool six) {
    return (six ? "fd51::" : "10.51.0.") + std::to_string(host);
  }
  /// Moves this process to a host.
  void go_to(int host) const { enter(networks_[static_cast<std::size_t>(host) - 1]); }
  void go_back() const { enter(switch_); }
  /// Another address of the host that this process is on.
  static void add_address(std::string const& which) { ip("address add " + which + " dev wire"); }
  /// Takes a host's wire out of the switch: whoever is connected with it learns nothing.
  static void unplug(int host) { ip("link set dev port" + std::to_string(host) + " nomaster"); }

 private:
  static void ip(std::string const& command) {
    if (std::system(("ip " + command).c_str()) != 0) {
      throw std::runtime_error("'ip " + command + "' failed");
    }
  }
  static void give(std::string const& device, int host) {
    ip("address add " + address(host, false) + "/24 dev " + device);
    ip("address add " + address(host, true) + "/64 dev " + device + " nodad");
    ip("link set dev " + device + " up");
  }
  static void leave_network() {
    if (::unshare(CLONE_NEWNET) == 0) { return; }
    // As root of a namespace of users this process may do the same.
    auto const user = std::to_string(::getuid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && std::ofstream{"/proc/self/uid_map"}
                                                            << "0 " + user + " 1\n"
                                                            << std::flush) {
      return;
    }
    throw std::runtime_error("no network namespaces: " + std::generic_category().message(errno));
  }
  static int this_network() {
    int const made = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (made < 0) { throw std::runtime_error("no /proc/self/ns/net"); }
    return made;
  }
  static void enter(int network) {
    if (::setns(network, CLONE_NEWNET) != 0) {
      throw std::runtime_error("setns: " + std::generic_category().message(errno));
    }
  }

  int switch_ = -1;
  std::vector<int> networks_;
};

}  // namespace assay::benchmark
