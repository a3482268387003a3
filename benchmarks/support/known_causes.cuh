// SPDX-License-Identifier: Apache-2.0
/// @file
/// Pairs of batches that differ by one known cause, to hold explanations against.
#pragma once

#include "../../examples/device_array.hpp"
#include "known_kernels.cuh"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/stats/random_source.hpp>
#include <assay/submit/thread_team.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/trace/kernel_causes.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace assay::kernel {

/// Reads `count` values of a table with 2^log_size, `stride` apart; an odd stride reaches all.
template <class T>
__global__ void known_reads(T const* table, int log_size, std::int64_t count, std::int64_t stride,
                            T* out) {
  auto const mask = (std::int64_t{1} << log_size) - 1;
  T sum = 0;
  for (std::int64_t const i : grid_stride(count)) { sum += table[(i * stride) & mask]; }
  if (sum == static_cast<T>(-1)) { *out = sum; }  // never: the table is zero
}

/// One chain of fused multiply-adds in each thread. Each waits for the one before it.
template <class T>
__global__ void known_chain(T factor, int steps, T* out) {
  auto x = static_cast<T>(threadIdx.x);
  for (int s = 0; s < steps; ++s) { x = x * factor + factor; }
  if (x == static_cast<T>(-1)) { *out = x; }  // never true for factors below 1
}

}  // namespace assay::kernel

namespace assay::benchmark {

/// The work of one batch, as multiples of the usual: its own, and that of the added cause.
struct amounts {
  double base = 1;
  double added = 1;
};

/// Runs one batch and blocks until it is done.
using batch = std::function<void(amounts const&)>;

/// Batches with a cause that others lack, and the words that name the cause.
struct known_cause {
  std::string name;
  trace::entry_kind what = trace::entry_kind::kernel;
  /// Makes batches with the cause or without it.
  std::function<batch(bool caused)> open = {};
  /// What counters say of the kernel, and one launch of it; none where a trace alone tells the
  /// cause.
  std::optional<trace::kernel_cause> by_counters = {};
  std::function<batch(bool caused)> open_item = {};
};

/// A kernel that fills the device for a given time.
class spinner {
 public:
  explicit spinner(on::device place)
      : place_(place), shape_(kernel::resident_shape(known, place, 1024)) {
    constexpr std::int64_t probe = 2'000'000;
    stream const on{place};
    std::array<event, 2> marks{event{event::kind::timed}, event{event::kind::timed}};
    for (int i = 0; i < 2; ++i) {  // the first also loads the kernel
      marks[0].record(on);
      kernel::launch(known, shape_, 0, on, probe);
      marks[1].record(on);
      on.synchronize();
    }
    cycles_per_us_ = static_cast<double>(probe) / (marks[1].seconds_since(marks[0]) * 1e6);
  }
  on::device place() const noexcept { return place_; }
  void enqueue(::cuda::stream_ref on, double us) const {
    kernel::launch(known, shape_, 0, on, static_cast<std::int64_t>(us * cycles_per_us_));
  }

 private:
  static constexpr auto known = &kernel::known_spin<std::int64_t>;
  on::device place_;
  kernel::launch_shape shape_;
  double cycles_per_us_ = 0;
};

/// Each item waits for its kernel. The cause: it also allocates some 64 MiB, and frees them.
inline batch allocations(spinner const& spin, bool caused) {
  return [spin, caused, on = std::make_shared<stream>(spin.place())](amounts const& of) {
    constexpr double bytes = 64 << 20U;
    constexpr double us = 30;
    for (int item = 0; item < 8; ++item) {
      void* block = nullptr;
      if (caused) { check(cudaMalloc(&block, static_cast<std::size_t>(bytes * of.added))); }
      spin.enqueue(*on, us * of.base);
      on->synchronize();
      if (caused) { check(cudaFree(block)); }
    }
  };
}

/// Keeps the processor busy.
inline void spin_on_host(double us) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>{us};
  while (std::chrono::steady_clock::now() < end) {}
}

/// One thread launches a kernel in each item and waits for it, beside a thread that works on the
/// host. The cause: that thread allocates and frees instead, and the driver locks out the launches.
///
/// It pauses after each call: without pauses the launches got the lock by luck alone, and batches
/// of 4 ms took up to 2 s (H200).
class neighbours {
 public:
  explicit neighbours(spinner const& spin)
      : spin_(spin),
        on_(spin.place()),
        team_(2, [place = spin.place()](int) { check(cudaSetDevice(place.id)); }) {}
  void run(amounts const& of, bool caused) {
    std::atomic<bool> done{false};
    team_.run([&](int t) {
      if (t == 0) {
        for (int item = 0; item < items; ++item) {
          spin_.enqueue(on_, kernel_us * of.base);
          on_.synchronize();
        }
        done = true;
        return;
      }
      for (int item = 0; item < items && !done; ++item) {
        void* block = nullptr;
        if (caused) { check(cudaMalloc(&block, static_cast<std::size_t>(bytes * of.added))); }
        spin_on_host(pause_us);
        if (caused) { check(cudaFree(block)); }
        spin_on_host(pause_us);
      }
    });
  }

 private:
  static constexpr int items = 40;
  static constexpr double kernel_us = 15;
  static constexpr double pause_us = 40;
  static constexpr double bytes = 64 << 20U;
  spinner spin_;
  stream on_;
  submit::thread_team team_;
};

inline batch allocations_beside(spinner const& spin, bool caused) {
  auto const made = std::make_shared<neighbours>(spin);
  return [made, caused](amounts const& of) { made->run(of, caused); };
}

/// Threads that take items from a queue, prepare each on the host, and launch its kernel.
class submitters {
 public:
  explicit submitters(spinner const& spin)
      : spin_(spin),
        team_(threads, [place = spin.place()](int) { check(cudaSetDevice(place.id)); }) {
    for (int t = 0; t < threads; ++t) { streams_.emplace_back(spin.place()); }
  }

  /// `Lock`: `submit::mutex_lock` or `submit::no_lock`, held for each item.
  template <class Lock>
  void run(amounts const& of) {
    Lock lock;
    std::atomic<int> next{0};
    team_.run([&](int t) {
      auto const& on = streams_[static_cast<std::size_t>(t)];
      for (;;) {
        [[maybe_unused]] auto const held = lock.enter();
        if (next++ >= items) { break; }
        spin_on_host(kernel_us + longer_us * of.added);
        spin_.enqueue(on, kernel_us);
      }
      on.synchronize();
    });
  }

 private:
  static constexpr int threads = 3;  // two could just keep the device busy
  static constexpr int items = 24;
  // With one thread at a time, the device waits for what preparing takes longer than the kernel.
  static constexpr double kernel_us = 60;
  static constexpr double longer_us = 45;

  spinner spin_;
  std::vector<stream> streams_;
  submit::thread_team team_;
};

/// The cause: a mutex round the submission of each item.
inline batch locked_submission(spinner const& spin, bool caused) {
  auto const made = std::make_shared<submitters>(spin);
  return [made, caused](amounts const& of) {
    if (caused) {
      made->run<submit::mutex_lock>(of);
    } else {
      made->run<submit::no_lock>(of);
    }
  };
}

/// A table of zeros of 128 MiB, twice the L2 of an H200, and room for a result.
class read_table {
 public:
  static constexpr int log_size = 25;
  static constexpr auto size = std::int64_t{1} << log_size;
  read_table() : all_(static_cast<std::size_t>(size) + 1) {
    check(cudaMemset(all_.get(), 0, (static_cast<std::size_t>(size) + 1) * sizeof(std::uint32_t)));
    check(cudaDeviceSynchronize());
  }
  std::uint32_t* get() const { return all_.get(); }

 private:
  examples::device_array<std::uint32_t> all_;
};

/// `launches` kernels that read the table. The cause: neighbours in a warp read from lines of their
/// own.
inline batch scattered_reads(on::device place, std::shared_ptr<read_table const> const& table,
                             bool caused, int launches) {
  constexpr auto size = read_table::size;
  return [=, on = std::make_shared<stream>(place)](amounts const& of) {
    auto const entry = kernel::known_reads<std::uint32_t>;
    auto const count = static_cast<std::int64_t>(static_cast<double>(size) * of.added);
    for (int i = 0; i < launches; ++i) {
      kernel::launch(entry,
                     kernel::stride_shape(entry, place, static_cast<std::uint64_t>(count), 256), 0,
                     *on, table->get(), read_table::log_size, count, std::int64_t{caused ? 33 : 1},
                     table->get() + size);
    }
    on->synchronize();
  };
}

/// `launches` kernels of four blocks an SM. The cause: shared memory that has room for one of them.
inline batch few_warps(on::device place, bool caused, int launches) {
  auto const most =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  auto const shared_bytes = caused ? most * 3 / 4 : 0;
  auto const entry = kernel::known_chain<float>;
  kernel::set_max_dynamic_shared_memory(entry, place, shared_bytes);
  auto const blocks = 4 * static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount));
  auto const out = std::make_shared<examples::device_array<float>>(1);
  return [=, on = std::make_shared<stream>(place)](amounts const& of) {
    constexpr double steps = 12'000;  // some 25 us
    for (int i = 0; i < launches; ++i) {
      kernel::launch(entry, kernel::launch_shape{blocks, 128}, shared_bytes, *on, 0.999F,
                     static_cast<int>(steps * of.added), out->get());
    }
    on->synchronize();
  };
}

/// Pinned host memory.
inline std::shared_ptr<std::byte> pinned_bytes(std::size_t bytes) {
  void* made = nullptr;
  check(cudaMallocHost(&made, bytes));
  return {static_cast<std::byte*>(made), [](std::byte* at) { check_noexcept(cudaFreeHost(at)); }};
}

/// Room for a copy from the host to a device.
struct copied_bytes {
  static constexpr std::size_t size = 32 << 20U;
  std::shared_ptr<std::byte> from = pinned_bytes(size);
  examples::device_array<std::byte> to{size};
};

/// The cause: a copy of some 16 MiB to the device before each kernel.
inline batch copies(spinner const& spin, std::shared_ptr<copied_bytes const> const& buffers,
                    bool caused) {
  return [=, on = std::make_shared<stream>(spin.place())](amounts const& of) {
    constexpr double bytes = 16 << 20U;
    constexpr double us = 40;
    for (int item = 0; item < 6; ++item) {
      if (caused) {
        check(cudaMemcpyAsync(buffers->to.get(), buffers->from.get(),
                              static_cast<std::size_t>(bytes * of.added), cudaMemcpyHostToDevice,
                              on->get()));
      }
      spin.enqueue(*on, us * of.base);
    }
    on->synchronize();
  };
}

/// 256 requests, each a little time of a kernel, which also takes a fixed time. The cause: a kernel
/// has 8 requests and not 64.
inline batch requests(spinner const& spin, bool caused, bool all) {
  return [=, on = std::make_shared<stream>(spin.place())](amounts const& of) {
    constexpr int count = 256;
    constexpr double fixed_us = 100;  // as weights take, which each kernel reads
    constexpr double request_us = 2;
    int const together = caused ? 8 : 64;
    for (int done = 0; done < (all ? count : together); done += together) {
      spin.enqueue(*on, fixed_us * of.added + together * request_us * of.base);
    }
    on->synchronize();
  };
}

/// Large buffers are those of all openings: they take longer to make than a batch.
inline std::vector<known_cause> known_causes(on::device place) {
  using trace::entry_kind;
  using trace::kernel_cause;
  spinner const spin{place};
  auto const table = std::make_shared<read_table const>();
  auto const buffers = std::make_shared<copied_bytes const>();
  return {
      {"allocation", entry_kind::allocation,
       [=](bool caused) { return allocations(spin, caused); }},
      {"allocation_beside", entry_kind::allocation,
       [=](bool caused) { return allocations_beside(spin, caused); }},
      {"mutex", entry_kind::lock, [=](bool caused) { return locked_submission(spin, caused); }},
      {"uncoalesced_loads", entry_kind::kernel,
       [=](bool caused) { return scattered_reads(place, table, caused, 4); },
       kernel_cause::l2_bytes,
       [=](bool caused) { return scattered_reads(place, table, caused, 1); }},
      {"less_occupancy", entry_kind::kernel,
       [=](bool caused) { return few_warps(place, caused, 10); }, kernel_cause::occupancy,
       [=](bool caused) { return few_warps(place, caused, 1); }},
      {"extra_copy", entry_kind::copy, [=](bool caused) { return copies(spin, buffers, caused); }},
      {"smaller_batch", entry_kind::kernel,
       [=](bool caused) { return requests(spin, caused, true); }, kernel_cause::launches,
       [=](bool caused) { return requests(spin, caused, false); }}};
}

}  // namespace assay::benchmark
