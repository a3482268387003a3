// SPDX-License-Identifier: Apache-2.0
// How should the kernels of null_cast be tuned: block size, wide loads in flight, cache hints, one
// tile a warp or a persistent grid? Every variant is checked and timed at 2^28 rows beside the
// driver's copy, and at the experiment's size with cold caches; the tables are sorted by rate.

#include "support/kernel_timing.cuh"
#include "support/result.hpp"

#include <assay/kernel/grid_stride.cuh>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace assay::kernel {

/// Counts the 16-byte vectors that differ.
template <class Vector>
__global__ void count_different(Vector const* a, Vector const* b, std::int64_t count,
                                unsigned long long* different) {
  for (auto const i : grid_stride(count)) {
    auto const x = a[i];
    auto const y = b[i];
    if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w) { atomicAdd(different, 1ULL); }
  }
}

}  // namespace assay::kernel

namespace {

using namespace assay;
using namespace assay::benchmark;
using kernel::cache;
using kernel::tuning;

constexpr char const* hint(cache which) {
  return which == cache::normal ? "-" : which == cache::streaming ? "cs" : "cg";
}

struct variant_result {
  std::string kernel, type;
  unsigned threads;
  int packs;
  char const* loads;
  char const* stores;
  bool persistent;
  double large_seconds, large_rate, share, small_seconds, small_rate;
};

/// The variants of all kernels for one type of values.
template <class T>
class sweep {
 public:
  sweep(options const& chosen, std::vector<variant_result>& results)
      : place_(chosen.place),
        repetitions_(chosen.quick ? 3 : 11),
        large_rows_(std::int64_t{1} << (chosen.quick ? 24 : 28)),
        large_{place_, {.rows = large_rows_}, 1},
        small_{place_, {.rows = small_rows}, buffer_sets_for(small_rows)},
        peer_{where_, std::size_t{1} << 30U, large_.arrays_of(0).values,
              static_cast<std::size_t>(large_rows_) * sizeof(T)},
        scratch_(large_rows_),
        results_(results) {
    auto& state = large_.at(0);
    auto& via = large_.with(0);
    using tuned = kernel::null_cast_tuning<T>;
    auto const both = [&](auto const& in, std::int64_t rows, auto& to) {
      kernel::launch_is_valid<typename tuned::is_valid>(place_, where_, rows, in.mask,
                                                        to.bools.get());
      kernel::launch_copy_if_else<T, typename tuned::copy_if_else>(
          place_, where_, rows, to.bools.get(), in.values, in.mask, T{0}, to.data.get(),
          to.mask.get());
      kernel::launch_cast<T, typename tuned::cast>(place_, where_, rows, to.data.get(),
                                                   to.mask.get(), in.out, in.out_mask);
    };
    both(large_.arrays_of(0), large_rows_, via);
    for (int i = 0; i < small_.count(); ++i) {
      both(small_.arrays_of(i), small_rows, small_.with(i));
    }
    where_.synchronize();
    if (auto const wrong = state.verify()) { throw std::runtime_error("default: " + *wrong); }
  }

  template <class Tuning>
  void is_valid() {
    auto const run = [this](auto const& in, std::int64_t rows, auto& via, auto& to, auto const&) {
      kernel::launch_is_valid<Tuning>(place_, where_, rows, in.mask, to.bools.get());
      (void)via;
    };
    auto const expected = large_.with(0).bools.get();
    measure_one<Tuning>(0, run, [&] { return same(scratch_.bools.get(), expected); });
  }

  template <class Tuning>
  void copy_if_else() {
    auto const run = [this](auto const& in, std::int64_t rows, auto& via, auto& to, auto const&) {
      kernel::launch_copy_if_else<T, Tuning>(place_, where_, rows, via.bools.get(), in.values,
                                             in.mask, T{0}, to.data.get(), to.mask.get());
    };
    measure_one<Tuning>(1, run, [&] {
      return same(scratch_.data.get(), large_.with(0).data.get()) &&
             same_mask(scratch_.mask.get(), large_.with(0).mask.get());
    });
  }

  template <class Tuning>
  void cast() {
    auto const run = [this](auto const&, std::int64_t rows, auto& via, auto&, auto const& out) {
      kernel::launch_cast<T, Tuning>(place_, where_, rows, via.data.get(), via.mask.get(), out.out,
                                     out.out_mask);
    };
    measure_one<Tuning>(2, run, [&] {
      return same(scratch_values_.get(), large_.arrays_of(0).out) &&
             same_mask(scratch_mask_.get(), large_.arrays_of(0).out_mask);
    });
  }

  template <class Tuning>
  void fused() {
    auto const run = [this](auto const& in, std::int64_t rows, auto&, auto&, auto const& out) {
      kernel::launch_null_cast_fused<T, Tuning>(place_, where_, rows, in.values, in.mask, out.out);
    };
    measure_one<Tuning>(3, run,
                        [&] { return same(scratch_values_.get(), large_.arrays_of(0).out); });
  }

 private:
  static constexpr std::int64_t small_rows = 2'684'354;

  /// Whether as many bytes as the large column has rows of `U` are the same.
  template <class U>
  bool same(U const* a, U const* b) {
    return same_bytes(a, b, large_rows_ * static_cast<std::int64_t>(sizeof(U)));
  }
  bool same_mask(std::uint32_t const* a, std::uint32_t const* b) {
    return same_bytes(a, b, large_rows_ / 8);
  }
  bool same_bytes(void const* a, void const* b, std::int64_t bytes) {
    unsigned long long different = 0;
    check(cudaMemsetAsync(different_.get(), 0, sizeof(different), where_.get()));
    auto const entry = &kernel::count_different<uint4>;
    auto const shape =
        kernel::stride_shape(entry, place_, static_cast<std::uint64_t>(bytes / 16), 256);
    kernel::launch(entry, shape, 0, where_, static_cast<uint4 const*>(a),
                   static_cast<uint4 const*>(b), bytes / 16, different_.get());
    check(cudaMemcpyAsync(&different, different_.get(), sizeof(different), cudaMemcpyDefault,
                          where_.get()));
    where_.synchronize();
    return different == 0;
  }

  template <class Tuning, class Run, class Right>
  void measure_one(std::size_t which, Run const& run, Right const& right) {
    auto const traffic_of = [&](std::int64_t rows) {
      if (which == 3) { return workloads::null_cast_fused<T>{.rows = rows}.item_traffic().bytes(); }
      return workloads::null_cast<T>{.rows = rows}.kernels()[which].moves.bytes();
    };
    constexpr std::array names{"is_valid", "copy_if_else", "cast", "null_cast_fused"};
    poison();
    recording large{where_, 2, [&](int) {
                      run(large_.arrays_of(0), large_rows_, large_.with(0), scratch_,
                          workloads::null_cast_arrays<T>{
                              {}, nullptr, nullptr, scratch_values_.get(), scratch_mask_.get()});
                    }};
    (void)large.seconds();
    if (!right()) {
      throw std::runtime_error(std::string{names[which]} + " with " +
                               std::to_string(Tuning::threads) + " threads and " +
                               std::to_string(Tuning::packs) + " packs is wrong");
    }
    recording small{where_, small_.count(), [&](int i) {
                      run(small_.arrays_of(i), small_rows, small_.with(i), small_.with(i),
                          small_.arrays_of(i));
                    }};
    (void)small.seconds();
    std::vector<double> copies, large_seconds, small_seconds;
    for (int i = 0; i < repetitions_; ++i) {
      copies.push_back(peer_.seconds());
      large_seconds.push_back(large.seconds());
      small_seconds.push_back(small.seconds());
    }
    auto const peer_rate = peer_.bytes() / median(copies);
    auto const large_rate = traffic_of(large_rows_) / median(large_seconds);
    results_.push_back({names[which], type_name<T>(), Tuning::threads, Tuning::packs,
                        hint(Tuning::loads), hint(Tuning::stores), Tuning::persistent,
                        median(large_seconds), large_rate, large_rate / peer_rate,
                        median(small_seconds), traffic_of(small_rows) / median(small_seconds)});
  }

  void poison() {
    auto const n = static_cast<std::size_t>(large_rows_);
    check(cudaMemsetAsync(scratch_.bools.get(), 0x7F, n, where_.get()));
    check(cudaMemsetAsync(scratch_.data.get(), 0x7F, n * sizeof(T), where_.get()));
    check(cudaMemsetAsync(scratch_.mask.get(), 0, n / 8, where_.get()));
    check(cudaMemsetAsync(scratch_values_.get(), 0x7F, n * 8, where_.get()));
    check(cudaMemsetAsync(scratch_mask_.get(), 0, n / 8, where_.get()));
  }

  on::device place_;
  int repetitions_;
  std::int64_t large_rows_;
  stream where_{place_};
  buffer_sets<T> large_;
  buffer_sets<T> small_;
  copy_peer peer_;
  temporaries<T> scratch_;
  examples::device_array<double> scratch_values_{static_cast<std::size_t>(large_rows_)};
  examples::device_array<std::uint32_t> scratch_mask_{workloads::mask_bytes(large_rows_) / 4};
  examples::device_array<unsigned long long> different_{1};
  std::vector<variant_result>& results_;
};

template <unsigned Threads, int Packs, class Use>
void with_grids(Use const& use) {
  use.template operator()<tuning<Threads, Packs, cache::normal, cache::streaming, false>>();
  use.template operator()<tuning<Threads, Packs, cache::normal, cache::streaming, true>>();
}

/// The hints that `with_grids` has not.
template <unsigned Threads, int Packs, class Use>
void with_hints(Use const& use) {
  use.template operator()<tuning<Threads, Packs, cache::normal, cache::normal>>();
  use.template operator()<tuning<Threads, Packs, cache::normal, cache::l2_only>>();
  use.template operator()<tuning<Threads, Packs, cache::streaming, cache::normal>>();
  use.template operator()<tuning<Threads, Packs, cache::streaming, cache::streaming>>();
  use.template operator()<tuning<Threads, Packs, cache::l2_only, cache::normal>>();
  use.template operator()<tuning<Threads, Packs, cache::l2_only, cache::streaming>>();
}

template <int... Packs, class Use>
void with_all(Use const& use) {
  (with_grids<128, Packs>(use), ...);
  (with_grids<256, Packs>(use), ...);
  (with_grids<512, Packs>(use), ...);
  (with_hints<256, Packs>(use), ...);
}

template <class T>
void sweep_type(options const& chosen, std::vector<variant_result>& results) {
  sweep<T> variants{chosen, results};
  constexpr int narrow = sizeof(T);
  with_all<2, 4, 8, 16>([&]<class Tuning>() { variants.template fused<Tuning>(); });
  with_all<4, 8, 16>([&]<class Tuning>() { variants.template cast<Tuning>(); });
  with_all<narrow, 2 * narrow>([&]<class Tuning>() { variants.template copy_if_else<Tuning>(); });
  if constexpr (sizeof(T) == 4) {  // is_valid does not see the values
    with_all<1, 2, 4, 8>([&]<class Tuning>() { variants.template is_valid<Tuning>(); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "null_cast_tune", [](options const& chosen, report::document& out) {
        std::vector<variant_result> results;
        sweep_type<std::int32_t>(chosen, results);
        sweep_type<std::int64_t>(chosen, results);
        std::stable_sort(results.begin(), results.end(), [](auto const& a, auto const& b) {
          return std::tie(a.type, a.kernel, b.large_rate) <
                 std::tie(b.type, b.kernel, a.large_rate);
        });
        std::printf("%-6s %-16s %7s %5s %5s %6s %-10s | %9s %6s %9s | %10s %6s\n", "type", "kernel",
                    "threads", "packs", "loads", "stores", "grid", "2^28: us", "GB/s", "of memcpy",
                    "2.68M: us", "GB/s");
        out = report::document::array();
        for (auto const& r : results) {
          std::printf("%-6s %-16s %7u %5d %5s %6s %-10s | %9.1f %6.0f %8.1f%% | %10.2f %6.0f\n",
                      r.type.c_str(), r.kernel.c_str(), r.threads, r.packs, r.loads, r.stores,
                      r.persistent ? "persistent" : "one tile", r.large_seconds * 1e6,
                      r.large_rate * 1e-9, 100 * r.share, r.small_seconds * 1e6,
                      r.small_rate * 1e-9);
          out.push_back({{"type", r.type},
                         {"kernel", r.kernel},
                         {"threads", r.threads},
                         {"packs", r.packs},
                         {"loads", r.loads},
                         {"stores", r.stores},
                         {"persistent", r.persistent},
                         {"seconds", r.large_seconds},
                         {"bytes_per_second", r.large_rate},
                         {"share_of_memcpy", r.share},
                         {"small_seconds", r.small_seconds},
                         {"small_bytes_per_second", r.small_rate}});
        }
      });
}
