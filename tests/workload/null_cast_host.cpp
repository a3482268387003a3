// SPDX-License-Identifier: Apache-2.0
#include "workload/null_cast_battery.hpp"

#include <assay/arrays/agreement.hpp>

using namespace assay;

namespace {

constexpr std::size_t fence = 64;  // elements past the end that must stay as they are

template <class U>
bool untouched(std::vector<U> const& all, std::size_t used, U mark) {
  for (auto i = used; i < all.size(); ++i) {
    if (all[i] != mark) { return false; }
  }
  return true;
}

}  // namespace

TEMPLATE_TEST_CASE("each pass does what it says, and writes nothing else", "[host]", std::int32_t,
                   std::int64_t, float) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (auto const rows : test::battery_rows()) {
    if (rows > 200'000) { continue; }
    for (int const threads : {1, 2, 5}) {
      test::nasty_column<TestType> const in{rows, 0.4, seed};
      auto const n = static_cast<std::size_t>(rows);
      auto const m = in.mask.size();
      std::vector<std::uint8_t> bools(n + fence, 9);
      std::vector<TestType> data(n + fence, TestType{9});
      std::vector<std::uint8_t> data_mask(m + fence, 0x55);
      std::vector<std::uint8_t> out_mask(m + fence, 0x55);
      std::vector<double> out(n + fence, 9);
      std::vector<double> fused(n + fence, 9);

      host::is_valid(threads, rows, in.mask.data(), bools.data());
      host::copy_if_else(threads, rows, bools.data(), in.values.data(), in.mask.data(), TestType{3},
                         data.data(), data_mask.data());
      host::cast(threads, rows, data.data(), data_mask.data(), out.data(), out_mask.data());
      host::null_cast(threads, rows, in.values.data(), in.mask.data(), fused.data());

      for (std::int64_t row = 0; row < rows; ++row) {
        auto const i = static_cast<std::size_t>(row);
        bool const valid = workloads::is_valid(in.mask.data(), row);
        double expected = 0;
        workloads::null_cast_reference(in.values.data(), in.mask.data(), row, row + 1, &expected);
        REQUIRE(bools[i] == (valid ? 1 : 0));
        REQUIRE(workloads::is_valid(data_mask.data(), row));
        REQUIRE(workloads::is_valid(out_mask.data(), row));
        REQUIRE(arrays::detail::same_result(out[i], valid ? expected : 3.0));
        REQUIRE(arrays::detail::same_result(fused[i], expected));
      }
      CHECK(untouched<std::uint8_t>(bools, n, 9));
      CHECK(untouched<TestType>(data, n, 9));
      CHECK(untouched<std::uint8_t>(data_mask, m, 0x55));
      CHECK(untouched<std::uint8_t>(out_mask, m, 0x55));
      CHECK(untouched<double>(out, n, 9));
      CHECK(untouched<double>(fused, n, 9));
    }
  }
}

TEST_CASE("copy_if_else takes the validity of what it takes", "[host]") {
  // The bools need not be is_valid of the same column: a null that is taken stays null.
  for (std::int64_t const rows : {13, 64 + 13}) {
    auto const n = static_cast<std::size_t>(rows);
    std::vector<std::uint8_t> bools(n), mask((n + 7) / 8), data_mask(mask.size());
    std::vector<std::int32_t> values(n), data(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<std::int32_t>(i);
      bools[i] = i % 2 != 0;
      if (i % 3 == 0) { mask[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8)); }
    }
    host::copy_if_else(1, rows, bools.data(), values.data(), mask.data(), -1, data.data(),
                       data_mask.data());
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(data[i] == (i % 2 != 0 ? static_cast<int>(i) : -1));
      CHECK(workloads::is_valid(data_mask.data(), static_cast<std::int64_t>(i)) ==
            (i % 2 == 0 || i % 3 == 0));
    }
  }
}

TEST_CASE("cast copies the validity", "[host]") {
  std::int64_t const values[] = {1, 2, 3};
  std::uint8_t const mask = 0b1010'0101;
  std::uint8_t out_mask = 0;
  double out[3];
  host::cast(1, 3, values, &mask, out, &out_mask);
  CHECK((out_mask & 7) == (mask & 7));
}

TEST_CASE("bits spread to bytes and gather back", "[host]") {
  for (unsigned bits = 0; bits < 256; ++bits) {
    auto const bools = host::detail::spread(static_cast<std::uint8_t>(bits));
    for (unsigned k = 0; k < 8; ++k) { REQUIRE((bools >> (8 * k) & 0xFFU) == (bits >> k & 1U)); }
    REQUIRE(host::detail::gather(bools) == bits);
  }
}
