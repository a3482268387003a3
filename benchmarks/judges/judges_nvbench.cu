// SPDX-License-Identifier: Apache-2.0
// The same work as a program built with nvbench. JUDGED_EXTRA=0.01 in its environment makes it the
// new build, with 1 % more work: two builds with equal names, and the same machine code for all
// judges.

#include "judged.h"

#include <nvbench/nvbench.cuh>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void require(int code) {
  if (code != 0) { throw std::runtime_error("error " + std::to_string(code)); }
}

double extra_work() {
  char const* const said = std::getenv("JUDGED_EXTRA");
  return said == nullptr ? 0 : std::stod(said);
}

int kind_of(std::string const& name) {
  int kind = 0;
  while (kind < judged_count() && name != judged_name(kind)) { ++kind; }
  return kind;
}

void judged(nvbench::state& state) {
  int const kind = kind_of(state.get_string("kind"));
  double const extra = extra_work();
  std::array<void*, 3> arrays{};
  for (int i = 0; i < 3; ++i) {
    auto const bytes = judged_bytes(kind, i);
    require(cudaMalloc(&arrays[static_cast<std::size_t>(i)], bytes));
    require(judged_fill(arrays[static_cast<std::size_t>(i)], bytes, nullptr));
  }
  auto const launch = [&](cudaStream_t on) {
    require(judged_launch(kind, extra, arrays[0], arrays[1], arrays[2], on));
  };
  launch(nullptr);  // cuBLAS makes its handle
  require(cudaDeviceSynchronize());
  state.exec([&](nvbench::launch& each) { launch(each.get_stream()); });
  for (auto* const each : arrays) { require(cudaFree(each)); }
}

std::vector<std::string> kinds() {
  std::vector<std::string> all;
  for (int i = 0; i < judged_count(); ++i) { all.emplace_back(judged_name(i)); }
  return all;
}

NVBENCH_BENCH(judged).add_string_axis("kind", kinds());

}  // namespace
