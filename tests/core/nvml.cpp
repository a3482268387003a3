// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/machine/nvml_watch.hpp>

#include <cstring>

using namespace assay;
using assay::test::contains;

namespace {

/// What the library below answers; one test at a time.
struct answers {
  int init = 0, device = 0, clock = 0, power = 0, temperature = 0, throttle = 0, link = 0;
  int processes = 0, busy = 0;
  unsigned busy_percent = 28;
  std::vector<unsigned> pids{4711};
  unsigned more_on_each_call = 0;  // processes that come between two calls
  unsigned long long bits = 0;
  unsigned sm_mhz = 1980;
  std::string asked_for;
  int open = 0;  // initialised and not shut down
};
answers now;

// A library in place of the driver's, with its calling conventions.
int init() { return now.init == 0 ? (++now.open, 0) : now.init; }
int shutdown() { return --now.open, 0; }
char const* error(int code) { return code == 4 ? "Insufficient Permissions" : "Not Supported"; }
int driver(char* into, unsigned size) {
  std::strncpy(into, "580.1", size);
  return 0;
}
int by_bus_id(char const* id, void** device) {
  now.asked_for = id;
  *device = &now;
  return now.device;
}
int clock_info(void* device, int which, unsigned* to) {
  REQUIRE(device == &now);
  *to = which == 1 ? now.sm_mhz : which == 2 ? 3201 : 0;
  return now.clock;
}
int power(void*, unsigned* to) { return *to = 412'500, now.power; }
int temperature(void*, int sensor, unsigned* to) {
  return *to = sensor == 0 ? 51 : 0, now.temperature;
}
int throttle(void*, unsigned long long* to) { return *to = now.bits, now.throttle; }
int link_generation(void*, unsigned* to) { return *to = 5, now.link; }
int link_width(void*, unsigned* to) { return *to = 8, 0; }
int max_link_generation(void*, unsigned* to) { return *to = 6, 0; }
int max_link_width(void*, unsigned* to) { return *to = 16, 0; }

/// As `nvml.h` has it.
struct process_info {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
int processes(void*, unsigned* count, process_info* to) {
  if (now.processes != 0) { return *count += 1, now.processes; }
  now.pids.resize(now.pids.size() + now.more_on_each_call, 1);
  auto const room = *count;
  *count = static_cast<unsigned>(now.pids.size());
  if (room < *count) { return 7; }
  for (std::size_t i = 0; i < now.pids.size(); ++i) { to[i] = {now.pids[i], ~0ULL, ~0U, ~0U}; }
  return 0;
}

int utilization(void*, unsigned* to) {
  to[0] = now.busy_percent;
  to[1] = 7;
  return now.busy;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

void* find(std::string const& name) {
  if (name == "nvmlInit_v2") { return address(init); }
  if (name == "nvmlShutdown") { return address(shutdown); }
  if (name == "nvmlErrorString") { return address(error); }
  if (name == "nvmlSystemGetDriverVersion") { return address(driver); }
  if (name == "nvmlDeviceGetHandleByPciBusId_v2") { return address(by_bus_id); }
  if (name == "nvmlDeviceGetClockInfo") { return address(clock_info); }
  if (name == "nvmlDeviceGetPowerUsage") { return address(power); }
  if (name == "nvmlDeviceGetTemperature") { return address(temperature); }
  if (name == "nvmlDeviceGetCurrPcieLinkGeneration") { return address(link_generation); }
  if (name == "nvmlDeviceGetCurrPcieLinkWidth") { return address(link_width); }
  if (name == "nvmlDeviceGetMaxPcieLinkGeneration") { return address(max_link_generation); }
  if (name == "nvmlDeviceGetMaxPcieLinkWidth") { return address(max_link_width); }
  if (name == "nvmlDeviceGetCurrentClocksEventReasons") { return address(throttle); }
  if (name == "nvmlDeviceGetComputeRunningProcesses_v3") { return address(processes); }
  if (name == "nvmlDeviceGetUtilizationRates") { return address(utilization); }
  return nullptr;
}

machine::nvml_watch watch() { return machine::nvml_watch{"0000:1B:00.0", nvml{find}}; }

}  // namespace

TEST_CASE("without the library everything stays unknown, and one note says so") {
  auto const library = nvml::load("libassay-does-not-exist.so.1");
  CHECK(!library.available());
  CHECK_THAT(library.why_missing(), contains("libassay-does-not-exist.so.1"));
  machine::nvml_watch absent{"0000:1B:00.0", library};
  CHECK(absent.sample().empty());
  CHECK(absent.sample().empty());
  machine::environment where;
  where.driver = "for CUDA 13.0";
  absent.describe(where);
  CHECK(where.driver == "for CUDA 13.0");
  CHECK(std::isnan(where.sm_clock_mhz));
  CHECK(where.throttle_reasons.empty());
  auto const note = absent.note();
  CHECK_THAT(note, contains("NVML") && contains("libassay-does-not-exist.so.1"));
  CHECK(note.find("does-not-exist") == note.rfind("does-not-exist"));
}

TEST_CASE("a library that is something else is not used") {
  auto const other = nvml::load("libc.so.6");
  CHECK(!other.available());
  CHECK_THAT(other.why_missing(), contains("lacks functions"));
}

TEST_CASE("a device is asked for by its bus id and described by the medians") {
  now = {};
  auto device = watch();
  for (unsigned const mhz : {1980U, 345U, 1965U}) {
    now.sm_mhz = mhz;
    CHECK(device.sample().empty());
  }
  CHECK(now.asked_for == "0000:1B:00.0");
  machine::environment where;
  device.describe(where);
  CHECK(where.driver == "580.1");
  CHECK(where.sm_clock_mhz == 1965);
  CHECK(where.memory_clock_mhz == 3201);
  CHECK(where.power_watts == Approx(412.5));
  CHECK(where.temperature_celsius == 51);
  CHECK(device.note().empty());
}

TEST_CASE("the library is shut down with its last copy") {
  now = {};
  {
    auto const first = watch();
    auto const second = first;
    CHECK(now.open == 1);
  }
  CHECK(now.open == 0);
}

TEST_CASE("each bit has its name, and only heat and hardware slowdowns veto") {
  struct expectation {
    unsigned long long bits;
    std::vector<std::string> seen, vetoes;
  };
  for (auto const& [bits, seen, vetoes] : std::vector<expectation>{
           {0x0, {}, {}},
           {0x1, {}, {}},
           {0x2, {"application clocks"}, {}},
           {0x4, {"software power cap"}, {}},
           {0x8, {"hardware slowdown"}, {"throttled: hardware slowdown"}},
           {0x10, {"sync boost"}, {}},
           {0x20, {"software thermal slowdown"}, {"throttled: software thermal slowdown"}},
           {0x40, {"hardware thermal slowdown"}, {"throttled: hardware thermal slowdown"}},
           {0x80, {"hardware power brake"}, {"throttled: hardware power brake"}},
           {0x100, {"display clocks"}, {}},
           {0x25,
            {"software power cap", "software thermal slowdown"},
            {"throttled: software thermal slowdown"}}}) {
    INFO(bits);
    now = {};
    now.bits = bits;
    auto device = watch();
    CHECK(device.sample() == vetoes);
    CHECK(device.sample() == vetoes);
    CHECK(device.seen() == seen);
  }
}

TEST_CASE("a reason that has passed was seen all the same") {
  now = {};
  auto device = watch();
  now.bits = 0x4;
  device.sample();
  now.bits = 0;
  CHECK(device.sample().empty());
  machine::environment where;
  device.describe(where);
  CHECK(where.throttle_reasons == std::vector<std::string>{"software power cap"});
}

TEST_CASE("what may not be asked stays unknown, is noted once, and the rest is there") {
  now = {};
  now.power = 4;
  now.throttle = 3;
  now.bits = 0x40;
  auto device = watch();
  CHECK(device.sample().empty());
  CHECK(device.sample().empty());
  machine::environment where;
  device.describe(where);
  CHECK(std::isnan(where.power_watts));
  CHECK(where.sm_clock_mhz == 1980);
  CHECK(device.note() ==
        "the state of the GPU is not fully known (NVML: power: Insufficient Permissions; "
        "throttle reasons: Not Supported)");
}

TEST_CASE("a library that cannot start, or does not know the device, says why") {
  now = {};
  now.init = 4;
  CHECK_THAT(nvml{find}.why_missing(), contains("nvmlInit: Insufficient Permissions"));
  CHECK(now.open == 0);
  now = {};
  now.device = 3;
  auto device = watch();
  CHECK(device.sample().empty());
  CHECK_THAT(device.note(), contains("device: Not Supported"));
}

TEST_CASE("the name that older drivers have for throttle reasons will do") {
  now = {};
  now.bits = 0x40;
  machine::nvml_watch device{
      "0", nvml{[](std::string const& name) -> void* {
        if (name == "nvmlDeviceGetCurrentClocksEventReasons") { return nullptr; }
        return name == "nvmlDeviceGetCurrentClocksThrottleReasons" ? address(throttle) : find(name);
      }}};
  CHECK(device.sample().size() == 1);
}

TEST_CASE("the link of a device is asked for by its bus id") {
  now = {};
  std::vector<std::string> problems;
  CHECK(nvml{find}.ask_link("0000:1B:00.0", problems) == pcie_link{5, 8, 6, 16});
  CHECK(now.asked_for == "0000:1B:00.0");
  CHECK(problems.empty());
}

TEST_CASE("what is not known of a link is 0, and said") {
  now = {};
  now.link = 3;
  std::vector<std::string> problems;
  CHECK(nvml{find}.ask_link("0", problems) == pcie_link{0, 8, 6, 16});
  CHECK(problems == std::vector<std::string>{"link generation: Not Supported"});

  problems.clear();
  nvml const old{[](std::string const& name) -> void* {
    return name == "nvmlDeviceGetMaxPcieLinkWidth" ? nullptr : find(name);
  }};
  CHECK(old.available());
  now.link = 0;
  CHECK(old.ask_link("0", problems) == pcie_link{5, 8, 6, 0});
  CHECK(problems == std::vector<std::string>{"highest link width: the library does not know it"});

  problems.clear();
  now.device = 3;
  CHECK(nvml{find}.ask_link("0", problems) == pcie_link{});
  CHECK(problems == std::vector<std::string>{"device: Not Supported"});

  problems.clear();
  auto const absent = nvml::load("libassay-does-not-exist.so.1");
  CHECK(absent.ask_link("0", problems) == pcie_link{});
  CHECK(problems.size() == 1);
}

TEST_CASE("one process on the device is the caller's own") {
  now = {};
  auto device = watch();
  CHECK(device.sharing_note().empty());
  device.sample();
  CHECK(device.sharing_note().empty());
  now.pids.clear();  // a container may hide even the caller's own
  device.sample();
  CHECK(device.sharing_note().empty());
  CHECK(device.note().empty());
}

TEST_CASE("several processes are noted with the most there were, and veto nothing") {
  now = {};
  auto device = watch();
  for (auto const& pids :
       std::vector<std::vector<unsigned>>{{4711}, {4711, 8}, {4711, 8, 9}, {4711}}) {
    now.pids = pids;
    CHECK(device.sample().empty());
  }
  CHECK(device.sharing_note() == "another process uses this GPU: 3 processes had a context on it");
  CHECK(device.seen().empty());
  CHECK(device.note().empty());
}

TEST_CASE("the processes of a device are asked for by its bus id") {
  now = {};
  now.pids = {4711, 8};
  std::vector<std::string> problems;
  nvml const library{find};
  CHECK(library.ask("0000:1B:00.0", problems).processes == 2);
  CHECK(now.asked_for == "0000:1B:00.0");
  CHECK(problems.empty());

  now.device = 3;
  CHECK(library.ask("0", problems).processes == std::nullopt);
  CHECK(problems == std::vector<std::string>{"device: Not Supported"});
  auto const absent = nvml::load("libassay-does-not-exist.so.1");
  CHECK(absent.ask("0", problems).processes == std::nullopt);
  CHECK(problems.size() == 2);
}

TEST_CASE("more processes than there is room for are asked for again") {
  now = {};
  std::vector<std::string> problems;
  nvml const library{find};
  for (std::size_t const many : {16U, 17U, 1000U}) {
    now.pids.assign(many, 5);
    now.pids.back() = 6;
    CHECK(library.ask("0", problems).processes == static_cast<int>(now.pids.size()));
  }
  now.pids.assign(17, 5);
  now.more_on_each_call = 2;
  auto const seen = library.ask("0", problems).processes;
  CHECK(seen == static_cast<int>(now.pids.size()));
  CHECK(problems.empty());
  now.processes = 7;  // there is never enough room
  CHECK(library.ask("0", problems).processes == std::nullopt);
  CHECK(problems.size() == 1);
}

TEST_CASE("processes that may not be asked for stay unknown, and the rest is there") {
  now = {};
  now.processes = 4;
  now.pids = {1, 2, 3};
  auto device = watch();
  device.sample();
  CHECK(device.sharing_note().empty());
  machine::environment seen;
  device.describe(seen);
  CHECK(seen.sm_clock_mhz == 1980);
  CHECK(device.note() ==
        "the state of the GPU is not fully known (NVML: compute processes: Insufficient "
        "Permissions)");
}

TEST_CASE("the older call for processes will do, and none is no obstacle") {
  now = {};
  now.pids = {1, 2};
  auto const with = [](std::string const& known) {
    return nvml{[known](std::string const& name) -> void* {
      if (!name.starts_with("nvmlDeviceGetComputeRunningProcesses")) { return find(name); }
      return name == known ? address(processes) : nullptr;
    }};
  };
  std::vector<std::string> problems;
  CHECK(with("nvmlDeviceGetComputeRunningProcesses_v2").ask("0", problems).processes == 2);
  CHECK(problems.empty());
  // The first version fills shorter entries.
  auto const oldest = with("nvmlDeviceGetComputeRunningProcesses");
  CHECK(oldest.available());
  auto const state = oldest.ask("0", problems);
  CHECK(state.processes == std::nullopt);
  CHECK(state.sm_clock_mhz == 1980);
  CHECK(problems == std::vector<std::string>{"compute processes: the library does not know them"});
}

TEST_CASE("the throttle bits come from the last sample, and are 0 where unknown") {
  now = {};
  auto device = watch();
  CHECK(device.throttle_bits() == 0);
  now.bits = 0x25;
  device.sample();
  CHECK(device.throttle_bits() == 0x25);
  now.bits = 0x4;
  device.sample();
  CHECK(device.throttle_bits() == 0x4);
  now.throttle = 3;
  device.sample();
  CHECK(device.throttle_bits() == 0);
}

TEST_CASE("the use of a device is its processes and the share of time with a kernel") {
  now = {};
  now.pids = {1, 2};
  nvml const library{find};
  auto use = library.ask_use("0000:1B:00.0");
  CHECK(now.asked_for == "0000:1B:00.0");
  CHECK(use.processes == 2);
  CHECK(use.busy == std::nullopt);  // not asked for: a process is seen
  now.pids = {};
  CHECK(library.ask_use("0").busy.value_or(0) == Approx(0.28));
  now.busy = 3;
  now.processes = 4;
  use = library.ask_use("0000:1B:00.0");
  CHECK(use.processes == std::nullopt);
  CHECK(use.busy == std::nullopt);
  now = {};
  now.device = 2;
  CHECK(library.ask_use("0").processes == std::nullopt);
  auto const without = [](std::string const& name) {
    return name == "nvmlDeviceGetUtilizationRates" ? nullptr : find(name);
  };
  now = {};
  CHECK(nvml{without}.ask_use("0").busy == std::nullopt);
  CHECK(nvml::load("libassay-does-not-exist.so.1").ask_use("0").processes == std::nullopt);
}
