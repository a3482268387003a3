// SPDX-License-Identifier: Apache-2.0
/// @file
/// `adopted_orphans`: the processes that a program leaves behind.
#pragma once

#include <assay/core/requirements.hpp>

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace assay::detail {

/// A child of a process, as Linux lists it.
struct listed_child {
  ::pid_t pid = 0;
  bool runs = false;  ///< false: it has ended and waits to be reaped
};

/// All children of a process.
inline std::vector<listed_child> children_of(::pid_t parent) {
  std::vector<listed_child> found;
  std::unique_ptr<::DIR, int (*)(::DIR*)> const all{::opendir("/proc"), ::closedir};
  for (::dirent* each = nullptr; all && (each = ::readdir(all.get())) != nullptr;) {
    auto const pid = static_cast<::pid_t>(std::atol(each->d_name));
    if (pid <= 0) { continue; }
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file{
        std::fopen(("/proc/" + std::string{each->d_name} + "/stat").c_str(), "re"),
        [](std::FILE* old) { return std::fclose(old); }};
    std::array<char, 512> text{};
    if (!file) { continue; }
    auto const size = std::fread(text.data(), 1, text.size() - 1, file.get());
    // The name of a program may have blanks and brackets; state and parent follow the last one.
    std::string const line{text.data(), size};
    auto const end = line.rfind(')');
    if (end == line.npos || end + 4 >= line.size()) { continue; }
    if (std::atol(line.c_str() + end + 4) != parent) { continue; }
    found.push_back({pid, line[end + 2] != 'Z' && line[end + 2] != 'X'});
  }
  return found;
}

/// True if this process has children, without a look at all processes of the machine.
inline bool has_children() noexcept {
  ::siginfo_t state{};
  return ::waitid(P_ALL, 0, &state, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

/// While this lives, processes whose parent ends become children of this process, and not of init.
/// Children that were there before are left alone.
class adopted_orphans {
 public:
  adopted_orphans() {
    if (has_children()) {
      for (auto const& each : children_of(::getpid())) { before_.push_back(each.pid); }
    }
    ::prctl(PR_GET_CHILD_SUBREAPER, &was_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  adopted_orphans(adopted_orphans const&) = delete;
  adopted_orphans& operator=(adopted_orphans const&) = delete;
  ~adopted_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, was_); }

  /// True if there are orphans.
  bool has_any() const {
    if (!has_children()) { return false; }
    auto const all = children_of(::getpid());
    return std::any_of(all.begin(), all.end(),
                       [this](auto const& each) { return !is_left(each.pid); });
  }

  /// Kills and reaps all orphans and what they started. Returns the number of those that ran when
  /// it was called; their own children are not counted.
  int end_all() noexcept {
    int left = 0;
    bool first = true;
    for (bool again = has_children(); again; first = false) {
      try {
        auto const count = end_once();
        again = count.orphans > 0;
        if (first) { left = count.running; }
      } catch (...) { return left; }  // no memory: they stay children of this process
    }
    return left;
  }

 private:
  struct counted {
    int orphans = 0, running = 0;
  };

  /// Kills and reaps each orphan; the processes that it started become orphans.
  counted end_once() {
    counted count;
    for (auto const& each : children_of(::getpid())) {
      if (is_left(each.pid)) { continue; }
      count.running += each.runs ? 1 : 0;
      // A child that is not reaped keeps its number.
      if (::kill(each.pid, SIGKILL) != 0 && errno == EPERM) {  // it runs as another user
        before_.push_back(each.pid);
        continue;
      }
      ++count.orphans;
      while (::waitpid(each.pid, nullptr, 0) < 0 && errno == EINTR) {}
    }
    return count;
  }

  bool is_left(::pid_t child) const {
    return std::find(before_.begin(), before_.end(), child) != before_.end();
  }

  std::vector<::pid_t> before_;
  int was_ = 0;
};

}  // namespace assay::detail
