// SPDX-License-Identifier: Apache-2.0
// What share of the rate of the driver's own copy do the kernels of null_cast reach, at a size far
// beyond the L2 cache and at that of the experiment? And at what rate do four lanes run whole items
// at once, with their temporaries at hand: the floor under a batch of the experiment?
// Predicts: at 2^28 rows null_cast_fused at least 93 %, each of the three kernels at least 90 %.

#include "support/kernel_timing.cuh"
#include "support/result.hpp"

#include <array>
#include <string>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

constexpr int lanes = 4;

template <class T>
using tuned = kernel::null_cast_tuning<T>;

/// Enqueues kernel `which` of the three, or 3 for the fused one, with one buffer_set.
template <class T>
void enqueue(stream const& where, int which, buffer_sets<T>& all, int buffer_set) {
  auto const& in = all.arrays_of(buffer_set);
  auto& via = all.with(buffer_set);
  auto const rows = all.rows();
  if (which == 0) {
    kernel::launch_is_valid<typename tuned<T>::is_valid>(where, rows, in.mask, via.bools.get());
  } else if (which == 1) {
    kernel::launch_copy_if_else<T, typename tuned<T>::copy_if_else>(
        where, rows, via.bools.get(), in.values, in.mask, T{0}, via.data.get(), via.mask.get());
  } else if (which == 2) {
    kernel::launch_cast<T, typename tuned<T>::cast>(where, rows, via.data.get(), via.mask.get(),
                                                    in.out, in.out_mask);
  } else {
    kernel::launch_null_cast_fused<T, typename tuned<T>::fused>(where, rows, in.values, in.mask,
                                                                in.out);
  }
}

/// Throws unless every output is that of the reference; then poisons all. The fused kernel writes
/// no mask: without `masks` they are set to what the others leave.
template <class T>
void require_right(buffer_sets<T>& all, std::string const& what, bool masks) {
  for (int i = 0; i < all.count(); ++i) {
    auto& state = all.at(i);
    if (!masks) {
      check(cudaMemset(state.arrays(0).out_mask, 0xFF, workloads::mask_bytes(all.rows())));
    }
    if (auto const wrong = state.verify()) { throw std::runtime_error(what + ": " + *wrong); }
    state.poison();
  }
}

void print_row(std::string const& type, std::int64_t rows, std::string const& name, double seconds,
               double bytes, double peer, double target) {
  std::printf("%-6s %11lld  %-22s %10.2f us %8.0f GB/s %7.1f %%", type.c_str(),
              static_cast<long long>(rows), name.c_str(), seconds * 1e6, bytes / seconds * 1e-9,
              100 * bytes / seconds / peer);
  if (target > 0) {
    std::printf("  (target %.0f %%: %s)", 100 * target,
                bytes / seconds >= target * peer ? "met" : "MISSED");
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Each kernel by itself, repetitions of all of them and of the copy taking turns.
template <class T>
void each_kernel(on::device place, std::int64_t rows, bool large, int repetitions,
                 report::document& figures) {
  workloads::null_cast<T> const work{.rows = rows};
  workloads::null_cast_fused<T> const fused{.rows = rows};
  auto const three = work.kernels();
  std::array const kernels{three[0], three[1], three[2], fused.kernels()[0]};
  stream const where{place};
  buffer_sets<T> all{place, work, buffer_sets_for(rows)};
  copy_peer peer{where, std::size_t{1} << 30U, all.arrays_of(0).values,
                 static_cast<std::size_t>(rows) * sizeof(T)};

  std::vector<recording> runs;
  for (int which = 0; which < 4; ++which) {
    auto const launches = std::max(2, all.count());
    runs.emplace_back(where, launches,
                      [&](int i) { enqueue<T>(where, which, all, i % all.count()); });
  }
  for (int which = 0; which < 4; ++which) {  // warm, and right
    runs[static_cast<std::size_t>(which)].enqueue();
    where.synchronize();
    if (which >= 2) { require_right(all, std::string{kernels[which].name}, which == 2); }
  }

  std::array<std::vector<double>, 4> seconds;
  std::vector<double> copies;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    copies.push_back(peer.seconds());
    for (int turn = 0; turn < 4; ++turn) {
      auto const which = static_cast<std::size_t>((turn + repetition) % 4);
      seconds[which].push_back(runs[which].seconds());
    }
  }
  require_right(all, "after timing", true);

  auto const peer_rate = peer.bytes() / median(copies);
  for (std::size_t which = 0; which < 4; ++which) {
    auto const sample = stats::summarise(seconds[which]);
    auto const bytes = kernels[which].moves.bytes();
    auto const target = !large ? 0.0 : which == 3 ? 0.93 : 0.90;
    print_row(benchmark::type_name<T>(), rows, std::string{kernels[which].name}, sample.median,
              bytes, peer_rate, target);
    figures.push_back({{"type", benchmark::type_name<T>()},
                       {"rows", rows},
                       {"kernel", kernels[which].name},
                       {"bytes", bytes},
                       {"seconds", sample.median},
                       {"seconds_q1", sample.q1},
                       {"seconds_q3", sample.q3},
                       {"repetitions", sample.count},
                       {"bytes_per_second", bytes / sample.median},
                       {"memcpy_bytes_per_second", peer_rate},
                       {"share_of_memcpy", bytes / sample.median / peer_rate}});
  }
}

/// Whole items of four lanes at once: one input, and a set of temporaries and an output each.
template <class T, class Work>
void items_at_once(on::device place, Work const& work, int repetitions, report::document& figures) {
  constexpr int items = 25;
  stream const input_stream{place};
  device_lane_type first{place, input_stream, mr::cuda_malloc{}.open(place), 0};
  auto state = workloads::prepare(work, first, lanes);
  auto const rows = work.count();
  std::vector<stream> streams;
  std::vector<temporaries<T>> via;
  std::vector<recording> runs;
  for (int i = 0; i < lanes; ++i) {
    streams.emplace_back(place);
    via.emplace_back(rows);
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    auto const& where = streams[i];
    auto const& lane_arrays = state.arrays(static_cast<int>(i));
    runs.emplace_back(where, items, [&, i, lane_arrays](int) {
      if constexpr (Work::fused) {
        kernel::launch_null_cast_fused<T, typename tuned<T>::fused>(
            where, rows, lane_arrays.values, lane_arrays.mask, lane_arrays.out);
      } else {
        kernel::launch_is_valid<typename tuned<T>::is_valid>(where, rows, lane_arrays.mask,
                                                             via[i].bools.get());
        kernel::launch_copy_if_else<T, typename tuned<T>::copy_if_else>(
            where, rows, via[i].bools.get(), lane_arrays.values, lane_arrays.mask, T{0},
            via[i].data.get(), via[i].mask.get());
        kernel::launch_cast<T, typename tuned<T>::cast>(where, rows, via[i].data.get(),
                                                        via[i].mask.get(), lane_arrays.out,
                                                        lane_arrays.out_mask);
      }
    });
  }
  event begin{event::kind::timed};
  event end{event::kind::timed};
  std::array<event, lanes> done;
  std::vector<double> seconds;
  for (int repetition = -1; repetition < repetitions; ++repetition) {  // the first one warms
    begin.record(streams[0]);
    for (std::size_t i = 0; i < lanes; ++i) {
      check(cudaStreamWaitEvent(streams[i].get(), begin.get()));
      runs[i].enqueue();
      done[i].record(streams[i]);
    }
    for (auto const& each : done) { check(cudaStreamWaitEvent(streams[0].get(), each.get())); }
    end.record(streams[0]);
    end.synchronize();
    if (repetition >= 0) { seconds.push_back(end.seconds_since(begin) / (lanes * items)); }
  }
  if (auto const wrong = state.verify()) { throw std::runtime_error(*wrong); }
  auto const sample = stats::summarise(seconds);
  auto const bytes = work.item_traffic().bytes();
  std::printf("%-6s %11lld  %-22s %10.2f us %8.0f GB/s  (4 lanes at once, per item)\n",
              benchmark::type_name<T>(), static_cast<long long>(rows), Work::name.data(),
              sample.median * 1e6, bytes / sample.median * 1e-9);
  figures.push_back({{"type", benchmark::type_name<T>()},
                     {"rows", rows},
                     {"workload", Work::name},
                     {"lanes", lanes},
                     {"bytes_per_item", bytes},
                     {"seconds_per_item", sample.median},
                     {"seconds_q1", sample.q1},
                     {"seconds_q3", sample.q3},
                     {"bytes_per_second", bytes / sample.median}});
}

template <class T>
void measure_type(benchmark::options const& chosen, report::document& kernels,
                  report::document& at_once) {
  constexpr std::int64_t experiment = 2'684'354;
  auto const large = std::int64_t{1} << (chosen.quick ? 24 : 28);
  int const repetitions = chosen.quick ? 5 : 21;
  each_kernel<T>(chosen.place, large, true, repetitions, kernels);
  each_kernel<T>(chosen.place, experiment, false, repetitions, kernels);
  items_at_once<T>(chosen.place, workloads::null_cast<T>{.rows = experiment}, repetitions, at_once);
  items_at_once<T>(chosen.place, workloads::null_cast_fused<T>{.rows = experiment}, repetitions,
                   at_once);
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "null_cast",
                        [](benchmark::options const& chosen, report::document& out) {
                          auto kernels = report::document::array();
                          auto at_once = report::document::array();
                          std::printf("%-6s %11s  %-22s %13s %13s %9s\n", "type", "rows", "kernel",
                                      "time", "rate", "of memcpy");
                          measure_type<std::int32_t>(chosen, kernels, at_once);
                          measure_type<std::int64_t>(chosen, kernels, at_once);
                          measure_type<float>(chosen, kernels, at_once);
                          out["kernels"] = std::move(kernels);
                          out["items_at_once"] = std::move(at_once);
                        });
}
