// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run_ranks`: a function in several processes, and what each of them has to say.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace assay::benchmark {

/// A port of 127.0.0.1 that no other program draws, and that a rank can listen at all the same: it
/// is bound, and nothing listens.
class reserved_port {
 public:
  reserved_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int const yes = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<::sockaddr*>(&own);
    if (::bind(socket_, address, size) != 0 || ::getsockname(socket_, address, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "no free port");
    }
    number_ = ntohs(own.sin_port);
  }
  reserved_port(reserved_port const&) = delete;
  reserved_port& operator=(reserved_port const&) = delete;
  ~reserved_port() { ::close(socket_); }

  int number() const noexcept { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

/// A pipe between processes, made before they start. What waits at it waits for others, and not
/// for a time.
class gate {
 public:
  gate() {
    if (::pipe(ends_.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pipe");
    }
  }
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;
  ~gate() {
    ::close(ends_[0]);
    close();
  }

  void close() noexcept {
    if (ends_[1] >= 0) { ::close(ends_[1]); }
    ends_[1] = -1;
  }
  /// Readable when a `wait` would pass.
  int descriptor() const noexcept { return ends_[0]; }
  /// Lets one `wait` pass.
  void open_once() const {
    if (::write(ends_[1], "x", 1) != 1) { std::abort(); }
  }
  void wait() const {
    char got = 0;
    while (::read(ends_[0], &got, 1) < 0 && errno == EINTR) {}
  }
  /// Waits until all other processes that have this gate have ended.
  void wait_for_the_end_of_others() {
    close();
    wait();
  }

 private:
  std::array<int, 2> ends_{};
};

/// Text of a process that was killed, and of one that took longer than a minute.
inline constexpr auto killed = "(killed)";
inline constexpr auto hung = "(hung)";

/// Calls `body(rank)` in one process for each rank. Returns by rank what it returned, or the text
/// of its exception. Returns when all processes have ended. `gates` are closed in this process.
inline std::vector<std::string> run_ranks(int ranks, std::function<std::string(int)> const& body,
                                          std::vector<gate*> const& gates = {}) {
  std::vector<int> reads;
  std::vector<::pid_t> children;
  auto const parent = ::getpid();
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pipe");
    }
    auto const child = ::fork();
    if (child < 0) { throw std::system_error(errno, std::generic_category(), "no process"); }
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) { ::_exit(1); }
      ::alarm(60);
      for (int const each : reads) { ::close(each); }
      std::string text;
      try {
        text = body(rank);
      } catch (std::exception const& cause) { text = cause.what(); }
      auto const written = ::write(ends[1], text.data(), text.size());
      ::_exit(written == static_cast<::ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    reads.push_back(ends[0]);
    children.push_back(child);
  }
  for (auto* const each : gates) { each->close(); }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < children.size(); ++i) {
    std::string text;
    std::array<char, 4096> piece{};
    ::ssize_t got = 0;
    while ((got = ::read(reads[i], piece.data(), piece.size())) > 0 ||
           (got < 0 && errno == EINTR)) {
      if (got > 0) { text.append(piece.data(), static_cast<std::size_t>(got)); }
    }
    ::close(reads[i]);
    int status = 0;
    while (::waitpid(children[i], &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) { text = WTERMSIG(status) == SIGALRM ? hung : killed; }
    all.push_back(text);
  }
  return all;
}

}  // namespace assay::benchmark
