// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays begin where a setup asks for it, and red zones touch both of their ends.
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/guarded_store.hpp>
#include <assay/arrays/setup.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

using namespace assay;
using arrays::guarded_store;

namespace {

template <class T>
std::size_t offset(array_view<T> of, std::size_t from = 256) {
  return std::bit_cast<std::uintptr_t>(of.data()) % from;
}

std::shared_ptr<guarded_store> guarded(guarded_store::begin where) {
  return std::make_shared<guarded_store>(std::make_unique<arrays::host_array_store>(1), where);
}

struct three_floats {
  float x, y, z;
};

}  // namespace

TEST_CASE("arrays begin at multiples of 256 bytes, or of what is asked for", "[arrays]") {
  for (auto const& store :
       {std::shared_ptr<arrays::array_store>{std::make_shared<arrays::host_array_store>(3)},
        std::shared_ptr<arrays::array_store>{guarded(guarded_store::begin::even)}}) {
    setup make{store, 1};
    CHECK(offset(make.random<float>(10)) == 0);
    CHECK(offset(make.output<three_floats>(10)) == 0);
    for (std::size_t const bytes : {1U, 16U, 4096U, 65536U}) {
      make.align(bytes);
      CHECK(offset(make.inout<float>(10), bytes) == 0);
      auto const y = make.output<double>(10);
      CHECK(offset(y, bytes) == 0);
      for (std::size_t i = 0; i < 10; ++i) { y.data()[i] = 1; }  // its own memory
    }
  }
  setup make{std::make_shared<arrays::host_array_store>(3), 1};
  for (std::size_t const bad : {0U, 3U, 131072U}) {
    CHECK_THROWS_AS(make.align(bad), std::invalid_argument);
  }
  std::set<std::size_t> places;
  make.align(4096);
  for (int i = 0; i < 50; ++i) { places.insert(offset(make.output<char>(10), 65536)); }
  CHECK(places.size() > 5);  // still random
}

TEST_CASE("a shifted array begins one element off, or what is asked for", "[arrays]") {
  auto const store = guarded(guarded_store::begin::shifted);
  setup make{store, 1};
  auto const bytes = make.random<char>(10);
  auto const floats = make.output<float>(10);
  CHECK(offset(bytes) == 1);
  CHECK(offset(floats) == 4);
  CHECK(offset(make.inout<double>(10)) == 8);
  CHECK(offset(make.output<three_floats>(10)) == 12);
  make.align(16);
  CHECK(offset(make.random<float>(10)) == 16);
  CHECK(offset(make.output<three_floats>(10)) == 16);
  make.align(256);
  CHECK(offset(make.random<float>(10)) == 0);
  make.align(4096);
  CHECK(offset(make.random<float>(10), 4096) == 0);

  CHECK_FALSE(store->damaged());
  for (auto* const at : {floats.data() - 1, floats.data() + 10}) {
    auto const kept = std::exchange(*at, 5.0F);
    auto const damage = store->damaged();
    REQUIRE(damage);
    CHECK(damage->array == floats.data());
    bool const is_before = at < floats.data();
    auto const& changed = is_before ? damage->before : damage->behind;
    auto const& unchanged = is_before ? damage->behind : damage->before;
    CHECK((changed.first >= (is_before ? -4 : 40) && changed.last == (is_before ? -1 : 43)));
    CHECK(unchanged.first > unchanged.last);
    *at = kept;
  }
  auto* const end = reinterpret_cast<std::byte*>(floats.data() + 10) + guarded_store::zone - 1;
  auto const kept = std::exchange(*end, std::byte{1});
  auto const damage = store->damaged();
  REQUIRE(damage);
  CHECK((damage->array == floats.data() && damage->behind.first == damage->behind.last));
  CHECK(damage->behind.last == 40 + guarded_store::zone - 1);
  *end = kept;
  CHECK_FALSE(store->damaged());
  store->rewind(false);
  setup again{store, 2};
  CHECK(again.random<char>(10).data() == bytes.data());
  CHECK(again.output<float>(10).data() == floats.data());
}
