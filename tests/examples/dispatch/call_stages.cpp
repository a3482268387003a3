// SPDX-License-Identifier: Apache-2.0
#include "dispatch/call_stages.hpp"
#include "catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace assay::trace;
using namespace assay::examples;

namespace {

/// A call from 1000 to 20000 ns: two copies in, the second of which the host's call outlives, a
/// kernel, a copy back, and a wait.
model one_call() {
  model made;
  std::uint32_t correlation = 0;
  auto const call = [&](span when) {
    api_call made_call;
    made_call.when = when;
    made_call.correlation = ++correlation;
    made.calls.push_back(made_call);
    device_place where;
    where.correlation = correlation;
    return where;
  };
  auto const copy = [&](span host, span device, copy_kind kind) {
    memory_copy one;
    one.when = device;
    one.where = call(host);
    one.kind = kind;
    made.copies.push_back(one);
  };
  copy({1000, 2000}, {2000, 4000}, copy_kind::host_to_device);
  copy({2000, 5500}, {4000, 5000}, copy_kind::host_to_device);
  kernel_run kernel;
  kernel.when = {6000, 9000};
  kernel.where = call({5600, 5700});
  made.kernels.push_back(kernel);
  copy({5700, 5800}, {9500, 18000}, copy_kind::device_to_host);
  (void)call({5800, 20000});  // the wait
  return made;
}

double number(named_numbers const& of, std::string_view name) {
  for (auto const& [its, value] : of) {
    if (its == name) { return value; }
  }
  return std::nan("");
}

}  // namespace

TEST_CASE("the stages of a call follow each other and add up to it", "[trace]") {
  auto const found = stages_of(one_call());
  CHECK(number(found, "submit_seconds") == Approx(1000e-9));
  CHECK(number(found, "copies_in_seconds") == Approx(3500e-9));  // to the end of the host's call
  CHECK(number(found, "work_seconds") == Approx(3500e-9));
  CHECK(number(found, "copies_back_seconds") == Approx(9000e-9));
  CHECK(number(found, "sync_seconds") == Approx(2000e-9));
  double sum = 0;
  for (std::size_t i = 0; i < 5; ++i) { sum += found[i].second; }
  CHECK(sum == Approx(19000e-9));
  CHECK(number(found, "kernels_seconds") == Approx(3000e-9));
  CHECK(number(found, "to_device_seconds") == Approx(3000e-9));
  CHECK(number(found, "to_host_seconds") == Approx(8500e-9));
  CHECK(number(found, "idle_seconds") == Approx(1500e-9));
}

TEST_CASE("a copy from pageable memory begins with the host's call", "[trace]") {
  auto pageable = one_call();
  pageable.copies[0].from = memory_kind::pageable;
  auto const found = stages_of(pageable);
  CHECK(number(found, "submit_seconds") == 0);
  CHECK(number(found, "copies_in_seconds") == Approx(4500e-9));
}

TEST_CASE("a call without copies has no stages of copies", "[trace]") {
  auto only_kernel = one_call();
  only_kernel.copies.clear();
  auto const found = stages_of(only_kernel);
  CHECK(number(found, "copies_in_seconds") == 0);
  CHECK(number(found, "submit_seconds") == Approx(5000e-9));  // all that the trace has before it
  CHECK(number(found, "work_seconds") == Approx(3000e-9));
  CHECK(number(found, "copies_back_seconds") == 0);
  CHECK(number(found, "sync_seconds") == Approx(11000e-9));
  CHECK(stages_of(model{}).empty());
  only_kernel.kernels.clear();
  CHECK(stages_of(only_kernel).empty());
}

TEST_CASE("counters of kernels are sums of bytes and means by time", "[trace]") {
  auto const kernel = [](double ns, double occupancy, double bytes, double hits) {
    return counter_range{{},
                         {{std::string{metric::gpu_time}, ns},
                          {std::string{metric::occupancy}, occupancy},
                          {std::string{metric::dram_read}, bytes},
                          {std::string{metric::dram_write}, 2 * bytes},
                          {std::string{metric::l2_hit}, hits}}};
  };
  counter_values of;
  of.ranges = {kernel(100, 40, 1000, 10), kernel(300, 80, 10, 50)};
  auto const found = kernel_counters(of);
  CHECK(number(found, "occupancy_percent") == Approx(70));
  CHECK(number(found, "dram_bytes") == Approx(3030));
  CHECK(number(found, "l2_hit_percent") == Approx(40));
  CHECK(std::isnan(number(found, "ipc")));  // not read: left out
  CHECK(found.size() == 3);
  of.ranges.clear();
  CHECK(kernel_counters(of).empty());
  of = {};
  of.ranges = {kernel(100, 40, 1000, 10)};
  of.status.is = counter_status::state::no_permission;
  CHECK(kernel_counters(of).empty());
}
