// expect-error: has_work
// SPDX-License-Identifier: Apache-2.0
// A task without work() is refused by the name of what is missing.
#include <assay/dispatch/task.hpp>

#include <span>
#include <string_view>
#include <tuple>

struct incomplete {
  std::span<float> y;
  static constexpr std::string_view name = "incomplete";
  auto arrays() const { return std::tuple{assay::dispatch::inout(y)}; }
  void run(assay::on::host, float*) const {}
};

int main() { assay::dispatch::run_on_host(incomplete{}, assay::on::host{1}); }
