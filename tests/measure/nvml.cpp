// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/measure/nvml_watch.hpp>

#include <cstring>

using namespace assay;
using assay::test::contains;

namespace {

/// What the library below answers; one test at a time.
struct answers {
  int init = 0, device = 0, clock = 0, power = 0, temperature = 0, throttle = 0, link = 0;
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
  return nullptr;
}

measure::nvml_watch watch() { return measure::nvml_watch{"0000:1B:00.0", measure::nvml{find}}; }

}  // namespace

TEST_CASE("without the library everything stays unknown, and one note says so") {
  auto const library = measure::nvml::load("libassay-does-not-exist.so.1");
  CHECK(!library.available());
  CHECK_THAT(library.why_missing(), contains("libassay-does-not-exist.so.1"));
  measure::nvml_watch absent{"0000:1B:00.0", library};
  CHECK(absent.sample().empty());
  CHECK(absent.sample().empty());
  measure::environment where;
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
  auto const other = measure::nvml::load("libc.so.6");
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
  measure::environment where;
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
  measure::environment where;
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
  measure::environment where;
  device.describe(where);
  CHECK(std::isnan(where.power_watts));
  CHECK(where.sm_clock_mhz == 1980);
  CHECK(device.note() ==
        "clocks and throttling are not fully known (NVML: power: Insufficient Permissions; "
        "throttle reasons: Not Supported)");
}

TEST_CASE("a library that cannot start, or does not know the device, says why") {
  now = {};
  now.init = 4;
  CHECK_THAT(measure::nvml{find}.why_missing(), contains("nvmlInit: Insufficient Permissions"));
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
  measure::nvml_watch device{
      "0", measure::nvml{[](std::string const& name) -> void* {
        if (name == "nvmlDeviceGetCurrentClocksEventReasons") { return nullptr; }
        return name == "nvmlDeviceGetCurrentClocksThrottleReasons" ? address(throttle) : find(name);
      }}};
  CHECK(device.sample().size() == 1);
}

TEST_CASE("the link of a device is asked for by its bus id") {
  now = {};
  std::vector<std::string> problems;
  CHECK(measure::nvml{find}.ask_link("0000:1B:00.0", problems) == measure::pcie_link{5, 8, 6, 16});
  CHECK(now.asked_for == "0000:1B:00.0");
  CHECK(problems.empty());
}

TEST_CASE("what is not known of a link is 0, and said") {
  now = {};
  now.link = 3;
  std::vector<std::string> problems;
  CHECK(measure::nvml{find}.ask_link("0", problems) == measure::pcie_link{0, 8, 6, 16});
  CHECK(problems == std::vector<std::string>{"link generation: Not Supported"});

  problems.clear();
  measure::nvml const old{[](std::string const& name) -> void* {
    return name == "nvmlDeviceGetMaxPcieLinkWidth" ? nullptr : find(name);
  }};
  CHECK(old.available());
  now.link = 0;
  CHECK(old.ask_link("0", problems) == measure::pcie_link{5, 8, 6, 0});
  CHECK(problems == std::vector<std::string>{"highest link width: the library does not know it"});

  problems.clear();
  now.device = 3;
  CHECK(measure::nvml{find}.ask_link("0", problems) == measure::pcie_link{});
  CHECK(problems == std::vector<std::string>{"device: Not Supported"});

  problems.clear();
  auto const absent = measure::nvml::load("libassay-does-not-exist.so.1");
  CHECK(absent.ask_link("0", problems) == measure::pcie_link{});
  CHECK(problems.size() == 1);
}
