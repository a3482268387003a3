// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to world.hpp: TCP sockets that listen, connect, and carry messages before a deadline.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/world/transport.hpp>

#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::detail {

using deadline = std::chrono::steady_clock::time_point;

inline deadline after(std::chrono::duration<double> limit) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
}

/// Waits until a descriptor is ready; false when the deadline has passed.
inline bool ready_before(std::vector<::pollfd>& descriptors, deadline until) {
  for (;;) {
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    auto const wait = std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30);
    auto const ready = ::poll(descriptors.data(), descriptors.size(), static_cast<int>(wait));
    if (ready >= 0 || errno != EINTR) { return ready > 0; }
  }
}

/// A message between two ranks. All hosts of a job have the same order of bytes.
struct message {
  verb kind = verb::gather;
  std::uint32_t number = 0;
  std::string bytes{};

  static constexpr std::size_t header_bytes = 16;

  /// The message as it is sent.
  std::string encoded() const {
    std::string all(header_bytes, '\0');
    std::uint64_t const size = bytes.size();
    std::memcpy(all.data(), &size, 8);
    std::memcpy(all.data() + 8, &kind, 4);
    std::memcpy(all.data() + 12, &number, 4);
    return all += bytes;
  }
};

/// One end of a connection; owns its descriptor, which does not block.
class connection {
 public:
  explicit connection(int descriptor) noexcept : descriptor_(descriptor) {
    int const at_once = 1;  // small messages wait for no others
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  }
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;
  ~connection() { ::close(descriptor_); }

  int descriptor() const noexcept { return descriptor_; }

  /// The ways in which a transfer ends.
  enum class end { done, closed, late };

  end send(std::string_view bytes, deadline until) {
    while (!bytes.empty()) {
      auto const sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        std::vector<::pollfd> self{{descriptor_, POLLOUT, 0}};
        if (!ready_before(self, until)) { return end::late; }
      } else if (errno != EINTR) {
        return end::closed;
      }
    }
    return end::done;
  }

  /// Waits until the other machine has what was sent, or the connection has ended.
  void wait_until_sent(deadline until) const {
    int left = 0;
    ::pollfd ended{descriptor_, 0, 0};
    while (::ioctl(descriptor_, SIOCOUTQ, &left) == 0 && left > 0 && ::poll(&ended, 1, 1) == 0 &&
           std::chrono::steady_clock::now() < until) {}
  }

  /// Reads what has come, without a wait; false when the other end is closed.
  bool read_more() {
    std::array<char, 1 << 16> piece;
    auto const got = ::recv(descriptor_, piece.data(), piece.size(), 0);
    if (got > 0) { received_.append(piece.data(), static_cast<std::size_t>(got)); }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  /// The next whole message or line of what was read.
  std::optional<message> take_message() {
    constexpr auto header = message::header_bytes;
    if (received_.size() < header) { return {}; }
    std::uint64_t size = 0;
    message got;
    std::memcpy(&size, received_.data(), 8);
    std::memcpy(&got.kind, received_.data() + 8, 4);
    std::memcpy(&got.number, received_.data() + 12, 4);
    if (received_.size() - header < size) { return {}; }
    got.bytes = received_.substr(header, size);
    received_.erase(0, header + size);
    return got;
  }
  std::optional<std::string> take_line() {
    auto const length = received_.find('\n');
    if (length == received_.npos) { return {}; }
    auto line = received_.substr(0, length);
    received_.erase(0, length + 1);
    return line;
  }

  /// Reads until `take` returns a value. Nothing: the other end is closed, or the deadline passed.
  template <class Take>
  auto receive(Take&& take, deadline until) -> decltype(take(*this)) {
    for (;;) {
      if (auto got = take(*this)) { return got; }
      std::vector<::pollfd> self{{descriptor_, POLLIN, 0}};
      if (!ready_before(self, until)) {
        late_ = true;
        return {};
      }
      if (!read_more()) { return {}; }
    }
  }

  bool was_late() const noexcept { return late_; }          ///< `receive` ended by its deadline
  std::size_t waiting() const { return received_.size(); }  ///< bytes of what is not whole yet

 private:
  int descriptor_;
  bool late_ = false;
  std::string received_;
};

/// The addresses of a host.
class addresses {
 public:
  /// Throws `std::runtime_error` for an unknown host. Null is each address of this host.
  addresses(char const* host, int port) {
    ::addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = host == nullptr ? AI_PASSIVE : 0;
    auto const text = std::to_string(port);
    int const code = ::getaddrinfo(host, text.c_str(), &wanted, &first_);
    if (code != 0) {
      throw std::runtime_error((host == nullptr ? "" : std::string{host}) + ": " +
                               ::gai_strerror(code));
    }
  }
  addresses(addresses const&) = delete;
  addresses& operator=(addresses const&) = delete;
  ~addresses() { ::freeaddrinfo(first_); }

  /// Calls a function with each address and a new socket of its kind, which the function owns.
  template <class F>
  void each(F&& call) const {
    for (auto const* one = first_; one != nullptr; one = one->ai_next) {
      int const made = ::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (made >= 0) { call(*one, std::make_unique<connection>(made)); }
    }
  }

 private:
  ::addrinfo* first_ = nullptr;
};

/// Sockets that listen at all addresses of a host which are this machine's. Where none is, as for
/// the name of a service, they listen at all addresses of this machine.
inline std::vector<std::unique_ptr<connection>> listen_at(std::string const& host, int port) {
  std::vector<std::unique_ptr<connection>> all;
  int failure = EADDRNOTAVAIL;
  auto const listen = [&](::addrinfo const& at, std::unique_ptr<connection> by) {
    int const yes = 1;
    ::setsockopt(by->descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at.ai_family == AF_INET6) {
      ::setsockopt(by->descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
    if (::bind(by->descriptor(), at.ai_addr, at.ai_addrlen) == 0 &&
        ::listen(by->descriptor(), 4096) == 0) {
      all.push_back(std::move(by));
    } else if (errno != EADDRNOTAVAIL) {
      failure = errno;
    }
  };
  addresses{host.c_str(), port}.each(listen);
  if (all.empty() && failure == EADDRNOTAVAIL) { addresses{nullptr, port}.each(listen); }
  if (all.empty() || failure == EADDRINUSE) {
    throw std::system_error(failure, std::generic_category());
  }
  return all;
}

/// A connection to a host, or null where no address of the host takes one before the deadline.
inline std::unique_ptr<connection> connect_to(std::string const& host, int port, deadline until) {
  std::unique_ptr<connection> made;
  addresses{host.c_str(), port}.each([&](::addrinfo const& at, std::unique_ptr<connection> by) {
    if (made) { return; }
    if (::connect(by->descriptor(), at.ai_addr, at.ai_addrlen) != 0 && errno != EINPROGRESS) {
      return;
    }
    std::vector<::pollfd> self{{by->descriptor(), POLLOUT, 0}};
    int failure = 0;
    ::socklen_t size = sizeof failure;
    if (!ready_before(self, until) ||
        ::getsockopt(by->descriptor(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0 ||
        failure != 0) {
      return;
    }
    // A socket that draws the port as its own meets itself.
    ::sockaddr_storage own{}, other{};
    ::socklen_t own_size = sizeof own, other_size = sizeof other;
    ::getsockname(by->descriptor(), reinterpret_cast<::sockaddr*>(&own), &own_size);
    ::getpeername(by->descriptor(), reinterpret_cast<::sockaddr*>(&other), &other_size);
    if (own_size == other_size && std::memcmp(&own, &other, own_size) == 0) { return; }
    made = std::move(by);
  });
  return made;
}

}  // namespace assay::detail
