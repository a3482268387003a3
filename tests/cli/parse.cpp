// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/cli/parse.hpp>

using namespace assay;
using assay::test::contains;

TEST_CASE("sizes are read as people write them") {
  CHECK(cli::parse_bytes("1048576") == 1048576);
  CHECK(cli::parse_bytes("10GiB") == 10ULL << 30U);
  CHECK(cli::parse_bytes("512MB") == 512'000'000);
  CHECK(cli::parse_bytes("1.5 GiB") == 3ULL << 29U);
  CHECK(cli::parse_bytes("4kib") == 4096);
  CHECK(cli::parse_bytes("4kB") == 4000);
  CHECK(cli::parse_bytes("2TB") == 2'000'000'000'000);
  CHECK(cli::parse_bytes("1TiB") == 1ULL << 40U);
  CHECK(cli::parse_bytes("7B") == 7);
  CHECK(cli::parse_bytes("1e6") == 1'000'000);
}

TEST_CASE("a size that is none is refused with the word and the remedy") {
  for (auto const* word : {"", "GiB", "-1", "0", "-2GiB", "10XB", "10 GiB please", "1.5", "0.3B",
                           "nan", "inf", "1e30", "99999999TiB", "0x10"}) {
    INFO(word);
    CHECK_THROWS_AS(cli::parse_bytes(word), std::invalid_argument);
    CHECK_THROWS_WITH(cli::parse_bytes(word), contains("'" + std::string{word} + "'"));
    CHECK_THROWS_WITH(cli::parse_bytes(word), contains("such as 10GiB"));
  }
}

TEST_CASE("shares are read with and without the per cent sign") {
  CHECK(cli::parse_share("1%") == 0.01);
  CHECK(cli::parse_share("0.5 %") == 0.005);
  CHECK(cli::parse_share("0.01") == 0.01);
  CHECK(cli::parse_share("0") == 0);
  CHECK(cli::parse_share("100%") == 1);
  for (auto const* word : {"", "5", "-1%", "101%", "1 percent", "x", "nan", "1%%"}) {
    INFO(word);
    CHECK_THROWS_WITH(cli::parse_share(word), contains("'" + std::string{word} + "'"));
  }
}

TEST_CASE("seeds are whole numbers from 1") {
  CHECK(cli::parse_seed("1") == 1);
  CHECK(cli::parse_seed("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  for (auto const* word : {"", "0", "-4", "1.5", "12x", "18446744073709551616", " 3"}) {
    INFO(word);
    CHECK_THROWS_WITH(cli::parse_seed(word), contains("'" + std::string{word} + "'"));
  }
}

TEST_CASE("an unknown choice is refused with the choices") {
  CHECK(cli::choose("--only", "variant", "b", {"a", "b"}) == 1);
  CHECK_THROWS_WITH(cli::choose("--only", "variant", "c", {"a", "b"}),
                    "--only: unknown variant 'c': choose one of a, b");
}

TEST_CASE("counts and ranges name option, value and limit") {
  CHECK_NOTHROW(cli::require_count("--items", 1));
  CHECK_THROWS_WITH(cli::require_count("--items", 0), "--items 0: it must be at least 1");
  CHECK_THROWS_WITH(cli::require_count("--items", -3), "--items -3: it must be at least 1");
  CHECK_THROWS_WITH(cli::require_count("--items", 1LL << 40U),
                    "--items 1099511627776: it must be between 1 and 2147483647");
  CHECK_NOTHROW(cli::require_between("--nulls", 1.0, 0.0, 1.0));
  CHECK_THROWS_WITH(cli::require_between("--nulls", 1.5, 0.0, 1.0),
                    "--nulls 1.5: it must be between 0 and 1");
  CHECK_THROWS_WITH(
      cli::require_between("--nulls", std::numeric_limits<double>::quiet_NaN(), 0.0, 1.0),
      contains("--nulls nan"));
}
