// SPDX-License-Identifier: Apache-2.0
/// @file
/// The header of device paths by plain g++, and what it says on a machine without the device.

#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/dispatch/device.hpp>
#include <assay/measure/calibrate.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

using namespace assay;
namespace choose = dispatch::choose;
using test::contains;
using test::message_of;

namespace {

/// A user's own resource.
struct no_memory {
  void* allocate(::cuda::stream_ref, std::size_t, std::size_t) { return nullptr; }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  bool operator==(no_memory const&) const = default;
};

struct device_saxpy : test::saxpy {
  using saxpy::run;
  void run(cudaStream_t, float const*, float*) const {}
};
static_assert(dispatch::has_device_run<device_saxpy>);
static_assert(!dispatch::has_device_run<test::saxpy>);

dispatch::costs costs_on(on::device place) {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(place, [](double) { return 1e-5; }));
  return dispatch::costs{all};
}

using model_engine =
    decltype(dispatch::engine{std::declval<dispatch::costs>(), std::declval<no_memory>()});
using always_engine = decltype(dispatch::engine{
    std::declval<dispatch::costs>(), std::declval<no_memory>(), std::declval<choose::always>()});
static_assert(std::is_same_v<model_engine, dispatch::engine<choose::by_model, no_memory>>);
static_assert(std::is_same_v<always_engine, dispatch::engine<choose::always, no_memory>>);
static_assert(std::is_invocable_v<model_engine const&, stream const&, device_saxpy>);
static_assert(std::is_invocable_v<model_engine const&, cudaStream_t, device_saxpy>);

}  // namespace

TEST_CASE("a device of a dispatch that is not there is named", "[dispatch]") {
  on::device const none{1000};
  CHECK_THAT(message_of([&] { dispatch::engine{costs_on(none), no_memory{}}; }),
             contains("device 1000 does not exist"));
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, costs_on(none));
  CHECK_THAT(message_of([&] { dispatch::load(file, none); }),
             contains("device 1000 does not exist"));
  CHECK_THAT(
      message_of([&] {
        measure::calibrate<device_saxpy>(
            {on::host{1}, none},
            {.sizes = {1, 1000}, .make = [](setup& arrays, std::size_t size) -> device_saxpy {
               return {test::make_saxpy(arrays, size)};
             }});
      }),
      contains("device 1000 does not exist"));
}
