// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since a program has one tool of NVTX, from before main on
// NVTX was called before the hook could be in place.
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/nvtx_hook.hpp>
#include <assay/trace/ranges.hpp>

#include "catch.hpp"
#include "record_ranges.hpp"

using namespace assay;

namespace {

[[gnu::constructor(101)]] void call_early() { nvtxMarkA("early"); }

}  // namespace

TEST_CASE("A hook that came too late says so, and our own ranges are recorded all the same") {
  CHECK(trace::nvtx_hook::state() == trace::nvtx_hook_state::too_late);
  CHECK(trace::nvtx_hook::settle() == trace::nvtx_hook_state::too_late);
  auto const made = test::record_ranges([] {
    nvtxRangePushA("theirs");
    { nvtx_range const ours{"ours"}; }
    nvtxRangePop();
  });
  REQUIRE(made.ranges.size() == 1);
  CHECK(made.strings[made.ranges[0].name] == "ours");
}
