// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "workload/null_cast_passes.hpp"

#include <assay/verify.hpp>
#include <assay/workload/null_cast_host.hpp>

using namespace assay;

TEMPLATE_TEST_CASE("each pass does what it says, and writes nothing else", "[host]", std::int32_t,
                   std::int64_t, float) {
  auto const factory = [](setup& make, std::size_t n) {
    test::pass_arrays<TestType, std::uint8_t> const all{make, n};
    auto const threads = make.scalar("threads", {1, 2, 5});
    return [=, rows = static_cast<std::int64_t>(n)] {
      host::is_valid(threads, rows, all.mask.data(), all.bools.data());
      host::copy_if_else(threads, rows, all.taken.data(), all.values.data(), all.mask.data(),
                         all.scalar, all.data.data(), all.data_mask.data());
      host::cast(threads, rows, all.values.data(), all.mask.data(), all.out.data(),
                 all.out_mask.data());
      host::null_cast(threads, rows, all.values.data(), all.mask.data(), all.fused.data());
    };
  };
  // Round the widths of bytes, words and steps; the last one has parts for three threads.
  auto const seen = verify(factory, {.seed = test::fresh_seed(),
                                     .only = {0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129,
                                              511, 512, 513, 1000, 4097, 100'003}});
  REQUIRE(seen);
}

TEST_CASE("bits spread to bytes and gather back", "[host]") {
  for (unsigned bits = 0; bits < 256; ++bits) {
    auto const bools = host::detail::spread(static_cast<std::uint8_t>(bits));
    for (unsigned k = 0; k < 8; ++k) { REQUIRE((bools >> (8 * k) & 0xFFU) == (bits >> k & 1U)); }
    REQUIRE(host::detail::gather(bools) == bits);
  }
}
