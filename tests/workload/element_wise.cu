// SPDX-License-Identifier: Apache-2.0
#include "change_device_value.hpp"
#include "workload/element_wise_battery.hpp"
#include "workloads/iterated_map.cuh"

#include <assay/memory/async.hpp>
#include <assay/verify.cuh>
#include <assay/workload/vector_add.cuh>

using namespace assay;

namespace {

constexpr on::device place{0};

/// The plainest transfer: all in, all computed, all out, from and to memory of any kind.
template <transfer::host_memory Wants>
struct whole {
  static constexpr transfer::host_memory wants = Wants;

  struct engine {
    std::int64_t granularity = 0;  // of a chunk here; 0 for all in one
    int runs = 0;

    template <class Compute>
    void run(::cuda::stream_ref stream, transfer::job<Compute> const& what) {
      ++runs;
      auto const step = granularity > 0 ? granularity : std::max<std::int64_t>(what.elements, 1);
      int number = 0;
      for (std::int64_t first = 0; first < what.elements; first += step) {
        auto const count = std::min(step, what.elements - first);
        std::vector<void const*> inputs;
        std::vector<void*> outputs, all;
        auto const room = [&](std::size_t element) {
          void* block = nullptr;
          check(cudaMallocAsync(&block, element * static_cast<std::size_t>(count), stream.get()));
          all.push_back(block);
          return block;
        };
        for (auto const& each : what.inputs) {
          auto* const to = room(each.element_bytes);
          auto const bytes = each.element_bytes * static_cast<std::size_t>(count);
          auto const* from = static_cast<std::byte const*>(each.data) +
                             each.element_bytes * static_cast<std::size_t>(first);
          check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()));
          inputs.push_back(to);
        }
        for (auto const& each : what.outputs) { outputs.push_back(room(each.element_bytes)); }
        what.compute(stream, transfer::chunk{number++, first, count, inputs, outputs});
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          auto const& each = what.outputs[k];
          auto const bytes = each.element_bytes * static_cast<std::size_t>(count);
          auto* to = static_cast<std::byte*>(each.data) +
                     each.element_bytes * static_cast<std::size_t>(first);
          check(cudaMemcpyAsync(to, outputs[k], bytes, cudaMemcpyDefault, stream.get()));
        }
        for (auto* each : all) { check(cudaFreeAsync(each, stream.get())); }
      }
    }
  };
};

using async_memory = mr::async_resource;

struct resident_lane {
  using place_type = on::device;
  using stream_type = ::cuda::stream_ref;
  using memory_type = async_memory;
  on::device place;
  ::cuda::stream_ref stream;
  async_memory memory;
  int index = 0;
  void synchronize() const { check(cudaStreamSynchronize(stream.get())); }
};

template <class Transfer>
struct carrying_lane : resident_lane {
  using transfer_type = Transfer;
  typename Transfer::engine transfer;
};

static_assert(device_lane<resident_lane> && !link_lane<resident_lane>);
static_assert(link_lane<carrying_lane<whole<transfer::host_memory::pageable>>>);

struct lanes {
  stream first_stream{place};
  stream second_stream{place};
  async_memory memory = mr::async{}.open(place);

  resident_lane resident(int index) const {
    return {place, index == 0 ? first_stream : second_stream, memory, index};
  }
  template <class Transfer>
  carrying_lane<Transfer> carrying(int index, std::int64_t granularity = 0) const {
    return {resident(index), {granularity}};
  }
};

using pageable = whole<transfer::host_memory::pageable>;
using page_locked = whole<transfer::host_memory::page_locked>;

/// Adds so much to a float, or flips the lowest bit of an integer.
template <class T>
T changed(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value ^ T { 1 };
  } else {
    return value + 400 * std::numeric_limits<T>::epsilon();
  }
}

template <class State>
void corrupt_on_device(State& state, int lane, std::int64_t at) {
  test::change_device_value(state.arrays(lane).output + at,
                            [](auto value) { return changed(value); });
}

template <class State>
void corrupt_on_host(State& state, int lane, std::int64_t at) {
  auto& value = state.arrays(lane).output[at];
  value = changed(value);
}

template <class Work, class Adjust>
void check_everywhere(Adjust const& adjust) {
  lanes const all;
  test::check_elements_battery<Work>(all.resident(0), all.resident(1), adjust);
  test::check_elements_battery<Work>(all.carrying<pageable>(0), all.carrying<pageable>(1, 1000),
                                     adjust);
  test::check_elements_battery<Work>(all.carrying<page_locked>(0), all.carrying<page_locked>(1),
                                     adjust);
}

}  // namespace

TEMPLATE_TEST_CASE("vector_add is right on device lanes, resident and carried", "[workload]", float,
                   double, std::int32_t) {
  using work = workloads::vector_add<TestType>;
  static_assert(workload_on<work, resident_lane>);
  static_assert(workload_on<work, carrying_lane<page_locked>>);
  check_everywhere<work>([](work&) {});
}

TEMPLATE_TEST_CASE("iterated_map is right on device lanes, resident and carried", "[workload]",
                   float, double) {
  using work = workloads::iterated_map<TestType>;
  for (int const flops : {0, 2, 258}) {
    check_everywhere<work>([&](work& each) { each.flops_per_element = flops; });
  }
}

TEST_CASE("a corrupted output is caught and named, on the device and after a transfer",
          "[workload]") {
  lanes const all;
  auto const on_device = [](auto& state, int lane, std::int64_t at) {
    corrupt_on_device(state, lane, at);
  };
  auto const on_host = [](auto& state, int lane, std::int64_t at) {
    corrupt_on_host(state, lane, at);
  };
  test::check_elements_corruption<workloads::vector_add<std::int32_t>>(all.resident(0),
                                                                       all.resident(1), on_device);
  test::check_elements_corruption<workloads::iterated_map<float>>(all.resident(0), all.resident(1),
                                                                  on_device);
  test::check_elements_corruption<workloads::vector_add<double>>(
      all.carrying<pageable>(0), all.carrying<pageable>(1), on_host);
  test::check_elements_corruption<workloads::iterated_map<double>>(
      all.carrying<page_locked>(0), all.carrying<page_locked>(1), on_host);
}

TEST_CASE("kernels take arrays at any alignment and touch nothing behind them", "[workload]") {
  for (std::size_t const shift : {0, 1, 2, 3, 4, 7}) {
    INFO("shift " << shift);
    auto const factory = [shift](setup& make, std::size_t n) {
      auto const x = make.random<std::int32_t>(n + 8), y = make.random<std::int32_t>(n);
      auto const out = make.inout<std::int32_t>(n + 8);
      make.expect(out, [=](std::size_t i) {
        if (i < shift || i >= shift + n) { return out.seeded(i); }
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(x.seeded(i)) +
                                         static_cast<std::uint32_t>(y.seeded(i - shift)));
      });
      return [=](cudaStream_t on) {
        workloads::launch_elements(place, on, no_copy{}, workloads::vector_add<std::int32_t>{},
                                   {x.data() + shift, y.data()}, out.data() + shift,
                                   static_cast<std::int64_t>(n));
      };
    };
    auto const seen =
        verify(factory, {.seed = test::fresh_seed(), .only = {1, 3, 4, 5, 255, 1021, 70'001}});
    REQUIRE(seen);
  }
}

TEST_CASE("a caller's own output receives the result of a transfer", "[workload]") {
  lanes const all;
  auto where = all.carrying<page_locked>(0, 300);
  std::vector<float> const x{1, 2, 3};
  std::vector<float> const y{10, 20, 30};
  std::vector<float> sum(3, -1.0F);
  workloads::vector_add<float> work;
  work.data = workloads::arrays_view<float, 2>{{x.data(), y.data()}, 3, sum.data()};
  auto state = workloads::prepare(work, where, 1);
  workloads::enqueue(work, where, state);
  where.synchronize();
  CHECK(sum == std::vector<float>{11, 22, 33});
  CHECK(!workloads::verify(work, state).has_value());
  CHECK(where.transfer.runs == 1);
}
