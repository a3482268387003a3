// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve_problem.hpp: the state of its process that a candidate can change, and its
/// growth.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace assay::referee_detail {

/// What can be changed, by name.
using state = std::map<std::string, std::string>;

/// The rounding mode, and whether subnormal numbers are kept.
inline std::string float_mode() {
  float volatile small = std::numeric_limits<float>::min();
  float const volatile half = small / 2;
  return concat(
      {"rounding ", std::to_string(std::fegetround()), half == 0 ? ", subnormals flushed" : ""});
}

/// Restores the rounding mode and the treatment of subnormals when it ends.
class float_guard {
 public:
  float_guard() { std::fegetenv(&before_); }
  float_guard(float_guard const&) = delete;
  float_guard& operator=(float_guard const&) = delete;
  ~float_guard() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

inline void add_variables(state& to) {
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    std::string_view const text{*each};
    auto const equals = text.find('=');
    if (equals == text.npos) { continue; }
    to["variable " + std::string{text.substr(0, equals)}] = text.substr(equals + 1);
  }
}

inline void add_signals(state& to) {
  for (int which = 1; which < 65; ++which) {
    struct ::sigaction now {};
    if (::sigaction(which, nullptr, &now) != 0) { continue; }
    char text[32];
    (void)std::snprintf(text, sizeof text, "%p", reinterpret_cast<void*>(now.sa_sigaction));
    to["handler of signal " + std::to_string(which)] = text;
  }
  ::sigset_t blocked{};
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  auto& text = to["blocked signals"];
  for (int which = 1; which < 65; ++which) {
    if (::sigismember(&blocked, which) == 1) { text += std::to_string(which) + " "; }
  }
}

/// The state of the calling thread and its process.
inline state state_now() {
  state now;
  add_variables(now);
  add_signals(now);
  now["floating-point mode"] = float_mode();
  now["nice value"] = std::to_string(::getpriority(PRIO_PROCESS, 0));
  now["scheduler"] = std::to_string(::sched_getscheduler(0));
  int adopts = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  now["adopts orphans"] = std::to_string(adopts);
  now["timer slack"] = std::to_string(::prctl(PR_GET_TIMERSLACK));
  ::cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    auto& text = now["allowed cores"];
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) { text += CPU_ISSET(i, &allowed) ? '1' : '0'; }
    text.erase(text.find_last_not_of('0') + 1);
  }
  std::unique_ptr<char, decltype(&std::free)> const folder{::getcwd(nullptr, 0), &std::free};
  now["working directory"] = folder ? folder.get() : "";
  for (int which = 0; which < static_cast<int>(RLIMIT_NLIMITS); ++which) {
    ::rlimit limit{};
    ::getrlimit(static_cast<::__rlimit_resource_t>(which), &limit);
    now["limit " + std::to_string(which)] = std::to_string(limit.rlim_cur);
  }
  for (auto const which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    ::itimerval timer{};
    ::getitimer(which, &timer);
    bool const runs = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
    now["timer " + std::to_string(static_cast<int>(which))] = runs ? "runs" : "";
  }
  return now;
}

/// The first thing that differs, in words. New variables are no change, unless libraries obey them:
/// runtimes of threads keep notes in others. Settings of OpenMP are no change either, unless they
/// leave one thread to all code of the process.
inline std::optional<std::string> difference(state const& before, state const& now) {
  auto const obeyed = [](std::string_view name) {
    for (auto const* each :
         {"CUDA_", "OMP_", "GOMP_", "LD_", "MALLOC_", "NCCL_", "GLIBC_", "ASSAY_"}) {
      if (name.starts_with(std::string{"variable "} + each)) { return true; }
    }
    return false;
  };
  auto const names_threads = [](std::string_view name, std::string const& value) {
    return (name.starts_with("variable OMP_") || name.starts_with("variable GOMP_")) &&
           value != "1";
  };
  auto const shown = [](std::string const& value) {
    return value.empty() ? "nothing" : concat({"'", value.substr(0, 60), "'"});
  };
  for (auto const& [name, value] : before) {
    auto const found = now.find(name);
    if (found == now.end()) { return name + " is gone"; }
    if (found->second != value && !names_threads(name, found->second)) {
      return concat({name, " was ", shown(value), " and is ", shown(found->second)});
    }
  }
  for (auto const& [name, value] : now) {
    if (!before.contains(name) && obeyed(name) && !names_threads(name, value)) {
      return concat({name, " is new: ", shown(value)});
    }
  }
  return {};
}

/// Amounts that must not grow from call to call, with the least growth per call that counts.
struct holdings {
  static constexpr std::array<char const*, 5> names{"threads", "open files", "device bytes",
                                                    "heap bytes", "resident bytes"};
  /// What must grow so much per call. A block of the heap has 32 bytes, and pages of the resident
  /// set come and go in honest processes too. A device gives out memory in 2 MiB.
  static constexpr std::array<double, 5> least{0.05, 0.05, 1, 16, 2048};
  std::array<double, 5> amounts{};
};

inline double entries_of(char const* folder) {
  auto const close = [](::DIR* open) { ::closedir(open); };
  std::unique_ptr<::DIR, decltype(close)> const open{::opendir(folder), close};
  double count = 0;
  while (open && ::readdir(open.get()) != nullptr) { ++count; }
  return count;
}

inline holdings holdings_now(std::uint64_t device_bytes) {
  auto const heap = ::mallinfo2();
  double pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages >> pages;
  return {{entries_of("/proc/self/task"), entries_of("/proc/self/fd"),
           static_cast<double>(device_bytes),
           static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd),
           pages * static_cast<double>(::sysconf(_SC_PAGESIZE))}};
}

/// What each amount grew by at least in so many batches: `measured` runs one and returns the
/// amounts.
template <class Measured>
std::array<double, 5> least_growth(int batches, Measured const& measured) {
  std::array<double, 5> grown{};
  grown.fill(1e300);
  auto before = measured();
  for (int batch = 0; batch < batches; ++batch) {
    auto const now = measured();
    for (std::size_t i = 0; i < grown.size(); ++i) {
      grown[i] = std::min(grown[i], now.amounts[i] - before.amounts[i]);
    }
    before = now;
  }
  return grown;
}

/// What `check` finds if it finds something four times. The memory of a device counts all processes
/// there, and another one may start or end beside the first tries.
template <class Check>
auto found_each_time(Check const& check) {
  auto found = check();
  for (int const pause_ms : {200, 500, 1000}) {
    if (!found) { break; }
    std::this_thread::sleep_for(std::chrono::milliseconds{pause_ms});
    found = check();
  }
  return found;
}

}  // namespace assay::referee_detail
