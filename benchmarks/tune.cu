// SPDX-License-Identifier: Apache-2.0
// assay-architectures: 90a
// Which constants are the best for our own kernels? A race for each kernel of null_cast and type of
// values over block size, wide loads in flight and stores that leave the caches alone, at the
// experiment's rows with cold caches; and one for a product of each type over copy strategies and
// their stages. Says what became of the constants in use. A header with the winner's for each race,
// on request.

#include "../examples/workloads/matmul.cuh"
#include "support/result.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/race.cuh>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using kernel::tuning;

using launch_function = std::function<void(cudaStream_t)>;
using factory = std::function<launch_function(setup&)>;
using words = std::uint32_t;

std::size_t words_of(std::int64_t rows) { return static_cast<std::size_t>(rows) / 32; }
template <class Word>
bool bit(Word const& mask, std::size_t row) {
  return (mask(row / 32) >> (row % 32) & 1U) != 0;
}

struct is_valid {
  struct arrays {
    words const* mask;
    std::uint8_t* bools;
  };
  static arrays declare(setup& make, std::int64_t rows) {
    auto const mask = make.random<words>(words_of(rows));
    auto const bools = make.output<std::uint8_t>(static_cast<std::size_t>(rows));
    make.expect(bools, [=](std::size_t i) {
      return bit([&](std::size_t k) { return mask.seeded(k); }, i) ? 1 : 0;
    });
    return {mask.data(), bools.data()};
  }
  template <class Tuning>
  static void launch(cudaStream_t on, std::int64_t rows, arrays const& all) {
    kernel::launch_is_valid<Tuning>(on, rows, all.mask, all.bools);
  }
};

template <class T>
struct copy_if_else {
  struct arrays {
    std::uint8_t const* bools;
    T const* values;
    words const* mask;
    T* data;
    words* data_mask;
  };
  static arrays declare(setup& make, std::int64_t rows) {
    auto const n = static_cast<std::size_t>(rows);
    auto const bools = make.random<std::uint8_t>(n, {0, 1});
    auto const values = make.random<T>(n);
    auto const mask = make.random<words>(words_of(rows));
    auto const data = make.output<T>(n);
    auto const data_mask = make.output<words>(words_of(rows));
    make.expect(data,
                [=](std::size_t i) { return bools.seeded(i) != 0 ? values.seeded(i) : T{0}; });
    make.expect(data_mask, [=](std::size_t i) {
      auto word = mask.seeded(i);
      for (std::size_t k = 0; k < 32; ++k) {
        if (bools.seeded(32 * i + k) == 0) { word |= 1U << k; }
      }
      return word;
    });
    return {bools.data(), values.data(), mask.data(), data.data(), data_mask.data()};
  }
  template <class Tuning>
  static void launch(cudaStream_t on, std::int64_t rows, arrays const& all) {
    kernel::launch_copy_if_else<T, Tuning>(on, rows, all.bools, all.values, all.mask, T{0},
                                           all.data, all.data_mask);
  }
};

/// With a mask of results, or fused with the selection before it and without one.
template <class T, bool Fused>
struct cast {
  struct arrays {
    T const* values;
    words const* mask;
    double* out;
    words* out_mask;
  };
  static arrays declare(setup& make, std::int64_t rows) {
    auto const values = make.random<T>(static_cast<std::size_t>(rows));
    auto const mask = make.random<words>(words_of(rows));
    auto const out = make.output<double>(static_cast<std::size_t>(rows));
    auto const valid = [=](std::size_t k) { return mask.seeded(k); };
    make.expect(out, [=](std::size_t i) {
      return !Fused || bit(valid, i) ? static_cast<double>(values.seeded(i)) : 0.0;
    });
    if constexpr (Fused) {
      return {values.data(), mask.data(), out.data(), nullptr};
    } else {
      auto const out_mask = make.output<words>(words_of(rows));
      make.expect(out_mask, valid);
      return {values.data(), mask.data(), out.data(), out_mask.data()};
    }
  }
  template <class Tuning>
  static void launch(cudaStream_t on, std::int64_t rows, arrays const& all) {
    if constexpr (Fused) {
      kernel::launch_null_cast_fused<T, Tuning>(on, rows, all.values, all.mask, all.out);
    } else {
      kernel::launch_cast<T, Tuning>(on, rows, all.values, all.mask, all.out, all.out_mask);
    }
  }
};

template <class Tuning>
point point_of() {
  return {{{"threads", Tuning::threads},
           {"packs", Tuning::packs},
           {"streams", Tuning::streams ? 1 : 0}}};
}

/// The candidates of one kernel.
template <class Kernel>
struct field {
  std::int64_t rows;
  std::vector<candidate> all{};

  template <class Tuning>
  void add() {
    factory make = [rows = rows](setup& arrays) -> launch_function {
      return [=, in = Kernel::declare(arrays, rows)](cudaStream_t on) {
        Kernel::template launch<Tuning>(on, rows, in);
      };
    };
    auto const at = point_of<Tuning>();
    all.emplace_back(at.label(), std::move(make), at.values);
  }
  template <unsigned Threads, int... Packs>
  void add_blocks() {
    (add<tuning<Threads, Packs, false>>(), ...);
    (add<tuning<Threads, Packs, true>>(), ...);
  }
  template <int... Packs>
  void add_all() {
    add_blocks<128, Packs...>();
    add_blocks<256, Packs...>();
    add_blocks<512, Packs...>();
  }
};

/// The races that are asked for.
struct races {
  benchmark::options const& chosen;
  report::document& figures;
  std::int64_t rows;
  std::string only, headers;

  bool wants(std::string const& name) const { return name.starts_with(only); }

  void run(std::string const& name, std::vector<candidate> const& all, bool cold,
           std::string const& in_use = {}) {
    options how{.max_seconds = chosen.quick ? 3.0 : 20.0, .place = chosen.place, .title = name};
    how.cold_cache = cold;
    auto const found = race(all, how);
    std::cout << found;
    if (found.leader < 0) {
      figures[name] = {{"failure", found.failure}};
      return;
    }
    report::document line{{"winner", found.winner()},        {"decided", found.decided},
                          {"candidates", all.size()},        {"survivors", found.survivors()},
                          {"seconds", found.best().seconds}, {"epochs", found.epochs.size()},
                          {"cells_saved", found.cells_saved}};
    auto const used = std::ranges::find(found.racers, in_use, &measure::racer::name);
    if (used != found.racers.end()) {
      std::cout << "  in use: " << in_use << (used->survived ? ", which survives" : "") << ", "
                << used->ratio << " of the winner's time\n";
      line["in_use"] = {{"name", in_use}, {"ratio", used->ratio}, {"survived", used->survived}};
    }
    figures[name] = std::move(line);
    chosen.save(figures);
    if (!headers.empty()) { write_header(found, headers + "/" + name + ".hpp", "tuning::" + name); }
  }

  template <class Kernel, class InUse, int... Packs>
  void of_kernel(std::string const& name) {
    if (!wants(name)) { return; }
    field<Kernel> candidates{rows};
    candidates.template add_all<Packs...>();
    run(name, candidates.all, true, point_of<InUse>().label());
  }

  template <class T>
  void of_values() {
    using in_use = kernel::null_cast_tuning<T>;
    constexpr int narrow = sizeof(T);
    auto const type = "_" + type_name<T>();
    of_kernel<cast<T, true>, typename in_use::fused, 2, 4, 8, 16>("null_cast_fused" + type);
    of_kernel<cast<T, false>, typename in_use::cast, 4, 8, 16>("cast" + type);
    of_kernel<copy_if_else<T>, typename in_use::copy_if_else, narrow, 2 * narrow>("copy_if_else" +
                                                                                  type);
  }

  template <class T, class... Strategies>
  void of_product(std::string const& name) {
    if (!wants(name)) { return; }
    auto const side = chosen.quick ? 1024 : 4096;
    workloads::matmul<T> const work{.m = side, .n = side, .k = side};
    std::vector<candidate> all;
    (add_product<T, Strategies>(work, all), ...);
    run(name, all, false);
  }

  template <class T, class Strategy>
  void add_product(workloads::matmul<T> const& work, std::vector<candidate>& to) const {
    factory make = [work, place = chosen.place](setup& arrays) -> launch_function {
      auto const all = work.arrays(arrays);
      return [=, inputs = workloads::make_handle(place, work, all)](cudaStream_t on) {
        workloads::launch_matmul(place, on, Strategy{}, inputs, all.c,
                                 copy::chunked_pitch<T>(work.n));
      };
    };
    to.emplace_back(describe(Strategy{}), std::move(make));
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::int64_t rows = 2'684'352;  // of the experiment, in whole words of a mask
  std::string only, headers;
  auto const body = [&](benchmark::options const& chosen, report::document& out) {
    races all{chosen, out, rows, only, headers};
    all.of_kernel<is_valid, kernel::null_cast_tuning<std::int32_t>::is_valid, 1, 2, 4, 8>(
        "is_valid");
    all.of_values<std::int32_t>();
    all.of_values<std::int64_t>();
    using namespace copy;
    all.of_product<float, regular<>, regular<16, 8>, cp_async<1>, cp_async<2>, cp_async<3>,
                   cp_async<4>, bulk<1>, bulk<2>, bulk<3>, bulk<4>>("matmul_float");
    all.of_product<bfloat16, regular<>, regular<16, 8>, cp_async<1>, cp_async<2>, cp_async<3>,
                   cp_async<4>, bulk<1>, bulk<2>, bulk<3>, bulk<4>>("matmul_bfloat16");
  };
  return benchmark::run(
      argc, argv, "tune", body,
      {{"--only", "NAME", "races whose names begin so", [&](auto const& text) { only = text; }},
       {"--rows", "N", "rows of null_cast, a multiple of 32",
        [&](auto const& text) { rows = std::stoll(text) / 32 * 32; }},
       {"--headers", "FOLDER", "writes NAME.hpp with the constants of each winner",
        [&](auto const& text) { headers = text; }}});
}
