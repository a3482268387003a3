// SPDX-License-Identifier: Apache-2.0
/// @file
/// `core_watch`: how much of this process's cores others use, by Linux's counters.
#pragma once

#include <assay/core/requirements.hpp>

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The cores of this process, and their use between two moments.
struct core_use {
  double cores = 1;    ///< in the affinity mask
  double foreign = 0;  ///< how many of them other processes kept busy
  /// As many cores as the control group grants, by time; infinite where it sets no limit.
  double quota = std::numeric_limits<double>::infinity();
};

namespace detail {

/// The content of a small file; empty where it cannot be read.
inline std::string text_of(std::string const& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file{
      std::fopen(path.c_str(), "rb"), [](std::FILE* old) { return std::fclose(old); }};
  std::string text;
  std::array<char, 16384> part;
  while (file != nullptr) {
    auto const got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), got);
    if (got < part.size()) { break; }
  }
  return text;
}

/// The numbers of the cores on which the calling thread may run.
inline std::vector<int> allowed_cores() {
  std::vector<int> all;
  // The kernel refuses a mask that is shorter than its own.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    struct part {  // nvcc 13.0 ends with an internal error for a vector of the unnamed cpu_set_t
      ::cpu_set_t set;
    };
    std::vector<part> mask(sets);
    auto const bytes = sets * sizeof(part);
    auto* const first = &mask.front().set;
    if (::sched_getaffinity(0, bytes, first) != 0) { continue; }
    for (std::size_t core = 0; core < sets * CPU_SETSIZE; ++core) {
      if (CPU_ISSET_S(core, bytes, first)) { all.push_back(static_cast<int>(core)); }
    }
    break;
  }
  return all;
}

/// Seconds for which this process has used a core, summed over its threads.
inline double own_core_seconds() {
  ::timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace detail

/// Reads the counters of Linux. Where one cannot be read, there is no load and no limit.
class core_watch {
 public:
  /// Where the counters are; tests have their own.
  struct sources {
    std::string stat = "/proc/stat";
    std::string group = "/proc/self/cgroup";
    std::string groups = "/sys/fs/cgroup";
    std::vector<int> (*cores)() = detail::allowed_cores;
    double (*own_seconds)() = detail::own_core_seconds;
  };

  explicit core_watch(sources from) : from_(std::move(from)) { (void)since_last(); }
  core_watch() : core_watch(sources{}) {}

  /// The use since the call before, or since an earlier one: the kernel counts in ticks of 10 ms,
  /// and one says nothing.
  core_use since_last() {
    constexpr double least_ticks = 5;
    auto const cores = from_.cores();
    constexpr int looks_at_quota = 5;  // one in so many: limits hardly ever change
    if (looks_++ % looks_at_quota == 0) { quota_ = quota(); }
    core_use use{.cores = static_cast<double>(std::max<std::size_t>(cores.size(), 1)),
                 .foreign = foreign_,
                 .quota = quota_};
    auto now = count(cores);
    bool const same = now.cores == before_.cores;
    double const passed = (now.all - before_.all) / use.cores;
    if (same && passed < least_ticks) { return use; }
    if (same) {
      double const own = (now.own - before_.own) * static_cast<double>(::sysconf(_SC_CLK_TCK));
      foreign_ = std::clamp((now.busy - before_.busy - own) / passed, 0.0, use.cores);
    }
    before_ = std::move(now);
    use.foreign = foreign_;
    return use;
  }

 private:
  /// Ticks, summed over the allowed cores.
  struct counts {
    std::vector<int> cores;
    double busy = 0;
    double all = 0;
    double own = 0;  ///< in seconds
  };

  counts count(std::vector<int> const& cores) const {
    counts sum{.cores = cores, .own = from_.own_seconds()};
    auto const text = detail::text_of(from_.stat);
    for (auto const core : cores) {
      auto const line = text.find("\ncpu" + std::to_string(core) + ' ');
      if (line == std::string::npos) { continue; }
      char const* at = text.c_str() + text.find(' ', line);
      // user, nice, system, idle, iowait, irq, softirq, steal
      for (int field = 0; field < 8; ++field) {
        char* end = nullptr;
        double const ticks = std::strtod(at, &end);
        if (end == at) { break; }
        at = end;
        sum.all += ticks;
        if (field != 3 && field != 4) { sum.busy += ticks; }
      }
    }
    return sum;
  }

  /// The least limit of the group and of those around it. For control groups of version 1, the
  /// limit of the group that a container sees as its root.
  double quota() const {
    double least = std::numeric_limits<double>::infinity();
    auto const apply = [&](std::string const& limit, std::string const& period) {
      double const granted = std::strtod(limit.c_str(), nullptr);  // 0 of `max`, -1 for no limit
      double const of = std::strtod(period.c_str(), nullptr);
      if (granted > 0 && of > 0) { least = std::min(least, granted / of); }
    };
    auto const all = '\n' + detail::text_of(from_.group);
    if (auto const line = all.find("\n0::"); line != std::string::npos) {
      auto group = all.substr(line + 4, all.find('\n', line + 1) - line - 4);
      if (group == "/") { group.clear(); }
      for (bool more = true; more;) {
        auto const text = detail::text_of(from_.groups + group + "/cpu.max");
        apply(text, text.substr(std::min(text.find(' '), text.size())));
        more = !group.empty();
        group.resize(std::min(group.rfind('/'), group.size()));
      }
    }
    auto const first = from_.groups + "/cpu/cpu.cfs_";
    apply(detail::text_of(first + "quota_us"), detail::text_of(first + "period_us"));
    return least;
  }

  sources from_;
  counts before_;
  double foreign_ = 0;
  double quota_ = std::numeric_limits<double>::infinity();
  int looks_ = 0;
};

}  // namespace assay::dispatch
