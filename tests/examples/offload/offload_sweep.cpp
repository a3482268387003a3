// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include "offload/offload_sweep.hpp"

#include <cstddef>
#include <vector>

using namespace assay;
using examples::offload_threshold;

namespace {

/// The threshold of sizes 1, 2, 3 ... with these times on the host and on the device. The flops
/// grow with the size as fast as the times of the host do, so that only the device's rate changes.
std::size_t threshold_of(std::vector<double> const& device_rates) {
  offload_threshold found;
  std::size_t size = 0;
  for (double const rate : device_rates) { found.add(++size, 100, 1, 1 / rate); }
  return found.size();
}

/// A bench whose calls take what costs predict, times a factor for device paths.
struct exact_bench {
  dispatch::costs const& of;
  double factor;
  dispatch::facts now;
  int calls = 0;

  void close() {}
  void open(std::size_t size) {
    now = dispatch::facts_of_size(size);
    now.amount.flops = 2.0 * static_cast<double>(size);
  }
  dispatch::facts const& known() const { return now; }
  double seconds(std::size_t path, int count) {
    calls += count;
    bool const host = of.paths()[path].where.host() != nullptr;
    return count * of.seconds(path, now) * (host ? 1 : factor);
  }
};

}  // namespace

TEST_CASE("a threshold by the rule of GPU-BLOB", "[dispatch]") {
  CHECK(threshold_of({}) == 0);
  CHECK(threshold_of({0.5, 0.9, 1.1, 1.2, 1.3}) == 3);  // the host has a rate of 1
  CHECK(threshold_of({1.1, 1.2}) == 1);
  CHECK(threshold_of({0.5, 0.9}) == 0);
  CHECK(threshold_of({0.5, 1.1, 0.9, 1.2}) == 2);       // one dip is forgiven
  CHECK(threshold_of({0.5, 1.1, 0.9, 0.9, 1.2}) == 5);  // two are not
  CHECK(threshold_of({0.5, 1.1, 0.9, 0.9}) == 0);
  CHECK(threshold_of({1.0, 1.0}) == 0);  // equal rates are no gain
}

TEST_CASE("a sweep has the threshold of each pair, measured and predicted", "[dispatch]") {
  dispatch::costs const of{test::device_measurements()};  // the device pays from 1000 on
  exact_bench bench{of, 1, {}};
  auto const found = examples::sweep_offload(bench, of, dispatch::facts_of_size, 1'500, nullptr, 4);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.last == 1'500);
  for (auto const& each : found.rows) {
    CHECK(each.swept == each.predicted);
    CHECK(each.swept == Approx(1'000).epsilon(0.05));
  }
  CHECK(bench.calls == 2 * (4 * 1'500 + 1));
  double seconds = 0;
  for (std::size_t size = 1; size <= 1'500; ++size) {
    for (std::size_t p = 0; p < 2; ++p) {
      seconds += 4 * of.seconds(p, dispatch::facts_of_size(size));
    }
  }
  CHECK(found.seconds == Approx(seconds));

  exact_bench slow{of, 1.5, {}};
  auto const later = examples::sweep_offload(slow, of, dispatch::facts_of_size, 1'500, nullptr, 4);
  CHECK(later.rows[0].predicted == found.rows[0].predicted);
  CHECK((later.rows[0].swept == 0 || later.rows[0].swept > 1'100));

  exact_bench again{of, 1.5, {}};
  auto const reused = examples::sweep_offload(again, of, dispatch::facts_of_size, 1'500, &found, 4);
  CHECK(reused.rows[0].swept == later.rows[0].swept);
  CHECK(again.calls == 4 * 1'500 + 1);  // on the device path alone
  CHECK(reused.seconds < later.seconds);

  dispatch::costs const host{test::saxpy_measurements()};
  exact_bench none{host, 1, {}};
  CHECK(examples::sweep_offload(none, host, dispatch::facts_of_size, 10).rows.empty());
  CHECK(none.calls == 0);
}
