// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it replaces sched_getaffinity
#include "catch.hpp"
#include "folder.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/dispatch/host_load.hpp>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace assay;
using dispatch::core_watch;

namespace {

std::size_t bytes_of_kernels_mask = 0;  ///< as of a machine with so many cores; 0: as it is

}  // namespace

// In the place of the C library's function. A kernel for 4096 cores refuses a shorter mask.
extern "C" int sched_getaffinity(::pid_t of, std::size_t bytes, ::cpu_set_t* mask) noexcept {
  if (bytes < bytes_of_kernels_mask) {
    errno = EINVAL;
    return -1;
  }
  std::memset(mask, 0, bytes);
  if (bytes_of_kernels_mask == 0) {
    return ::syscall(SYS_sched_getaffinity, of, bytes, mask) < 0 ? -1 : 0;
  }
  CPU_SET_S(3, bytes, mask);
  CPU_SET_S(4000, bytes, mask);
  return 0;
}

namespace {

// What the fakes answer; one test at a time.
std::vector<int> mask;
double own = 0;

std::vector<int> masked() { return mask; }
double own_seconds() { return own; }

core_watch::sources in(test::folder const& here) {
  return {.stat = (here / "stat").string(),
          .group = (here / "cgroup").string(),
          .groups = (here / "groups").string(),
          .cores = masked,
          .own_seconds = own_seconds};
}

/// A `/proc/stat` of 12 cores: `user` ticks of each core of the list, then `idle` ticks of all.
std::string stat_of(std::vector<std::pair<int, long>> const& busy, long idle) {
  std::string text = "cpu  1 2 3 4 5 6 7 8 0 0\n";
  for (int core = 0; core < 12; ++core) {
    long user = 0;
    for (auto const& [number, ticks] : busy) { user += number == core ? ticks : 0; }
    // Each field counts: a tenth of the busy ticks is nice, system, irq, softirq and steal each.
    auto const tenth = std::to_string(user / 10);
    text += "cpu" + std::to_string(core) + ' ' + std::to_string(user - user / 10 * 5) + ' ' +
            tenth + ' ' + tenth + ' ' + std::to_string(idle - user) + " 0 " + tenth + ' ' + tenth +
            ' ' + tenth + " 77 88\n";
  }
  return text + "intr 4711 0 0\nctxt 12\n";
}

}  // namespace

TEST_CASE("others' use of the cores is all use of the mask's cores less one's own", "[dispatch]") {
  test::folder const here;
  auto const tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  mask = {1, 2, 11};
  own = 5;
  write_atomically(here / "stat", stat_of({}, 1000));
  core_watch watch{in(here)};
  // 100 ticks on: core 1 is busy for 100, core 11 for 50, and core 0 is not of the mask.
  write_atomically(here / "stat", stat_of({{0, 100}, {1, 100}, {11, 50}}, 1100));
  own = 5 + 30 * tick;
  auto use = watch.since_last();
  CHECK(use.cores == 3);
  CHECK(use.foreign == Approx(1.2));
  CHECK(std::isinf(use.quota));
  // Three ticks later nothing is known that is new, and the last value stays.
  write_atomically(here / "stat", stat_of({{0, 100}, {1, 100}, {11, 50}}, 1103));
  CHECK(watch.since_last().foreign == Approx(1.2));
  // All work of the next 100 ticks is one's own.
  write_atomically(here / "stat", stat_of({{0, 200}, {1, 200}, {11, 50}}, 1200));
  own += 100 * tick;
  CHECK(watch.since_last().foreign == 0);
  // Another mask: the sums of before are of other cores.
  mask = {0, 1};
  write_atomically(here / "stat", stat_of({{0, 300}, {1, 300}}, 1300));
  use = watch.since_last();
  CHECK(use.cores == 2);
  CHECK(use.foreign == 0);
  write_atomically(here / "stat", stat_of({{0, 400}, {1, 350}}, 1400));
  CHECK(watch.since_last().foreign == Approx(1.5));
}

TEST_CASE("the quota is the least of the group and of those around it", "[dispatch]") {
  test::folder const here;
  mask = {0};
  auto const limit = [&](std::string const& group, std::string const& text) {
    std::filesystem::create_directories(here / "groups" / group);
    write_atomically(here / "groups" / group / "cpu.max", text);
  };
  auto const quota = [&] { return core_watch{in(here)}.since_last().quota; };
  CHECK(std::isinf(quota()));  // there are no files at all
  write_atomically(here / "cgroup", "4:memory:/x\n0::/pods/mine\n");
  CHECK(std::isinf(quota()));
  limit("pods/mine", "max 100000\n");
  CHECK(std::isinf(quota()));
  limit("pods/mine", "400000 100000\n");
  CHECK(quota() == 4);
  limit("pods", "250000 100000\n");
  CHECK(quota() == 2.5);
  limit("", "150000 100000\n");
  CHECK(quota() == 1.5);
  write_atomically(here / "cgroup", "0::/\n");
  CHECK(quota() == 1.5);
  std::filesystem::remove_all(here / "groups");
  limit("cpu", "");  // version 1
  write_atomically(here / "groups" / "cpu" / "cpu.cfs_period_us", "100000\n");
  write_atomically(here / "groups" / "cpu" / "cpu.cfs_quota_us", "-1\n");
  CHECK(std::isinf(quota()));
  write_atomically(here / "groups" / "cpu" / "cpu.cfs_quota_us", "300000\n");
  CHECK(quota() == 3);
}

TEST_CASE("without counters there is no load, and this machine has some cores", "[dispatch]") {
  test::folder const here;
  mask = {0, 1};
  core_watch unknown{in(here)};
  CHECK(unknown.since_last().foreign == 0);
  core_watch watch;
  auto const use = watch.since_last();
  CHECK(use.cores >= 1);
  CHECK(use.cores == static_cast<double>(std::thread::hardware_concurrency()));
  CHECK(use.quota > 0);
  CHECK(dispatch::detail::own_core_seconds() > 0);
}

TEST_CASE("cores are counted on a machine with more than 1024", "[dispatch]") {
  CHECK(!dispatch::detail::allowed_cores().empty());
  bytes_of_kernels_mask = 4096 / 8;
  auto const found = dispatch::detail::allowed_cores();
  bytes_of_kernels_mask = 0;
  CHECK(found == std::vector<int>{3, 4000});
}
