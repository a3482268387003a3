// SPDX-License-Identifier: Apache-2.0
/// @file
/// `task_bench`: verifies and times a task on its paths, over arrays of its own.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/dispatch/bench.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/path.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/stats/random_source.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// A task with device paths, where nothing defines what a calibration needs of a device.
template <class T>
concept lacks_device_header = has_device_run<T> && !requires { sizeof(device_paths<T>); };

namespace detail {

/// The bytes of an array of a task that calls write; of others nothing is compared.
struct written_bytes {
  std::span<std::byte const> bytes;
  /// The first element that differs by more than the default tolerance.
  std::optional<std::size_t> (*difference)(std::span<std::byte const> got,
                                           std::span<std::byte const> wanted);
};

/// A task of any type.
class any_task {
 public:
  virtual ~any_task() = default;
  virtual facts known() const = 0;
  virtual void run(on::host where, int calls) const = 0;
  virtual std::vector<written_bytes> written() const = 0;
};

/// The device of tasks of one type, for their verification and their times: `device_paths` of it.
class any_device {
 public:
  virtual ~any_device() = default;
  virtual void describe(measurements& to) const = 0;
  virtual std::shared_ptr<arrays::array_store> page_locked_arrays(std::uint64_t seed,
                                                                  double share) const = 0;
  virtual void select(std::size_t number) = 0;
  virtual void clear() = 0;
  virtual facts facts_of_call(any_task const& call) const = 0;
  /// One call with all arrays on the device, and the results on the host.
  virtual void run_once(any_task const& call) = 0;
  virtual void run_resident(any_task const& call, int calls) = 0;
  virtual void run_from_host(any_task const& call, facts const& known, int calls) = 0;
};

template <class U>
std::optional<std::size_t> first_difference(std::span<std::byte const> got,
                                            std::span<std::byte const> wanted) {
  for (std::size_t i = 0; i < wanted.size() / sizeof(U); ++i) {
    std::byte const* const mine = got.data() + i * sizeof(U);
    std::byte const* const right = wanted.data() + i * sizeof(U);
    bool agree = false;
    if constexpr (number<U>) {
      U a, b;
      std::memcpy(&a, mine, sizeof a);
      std::memcpy(&b, right, sizeof b);
      constexpr auto allowed = default_tolerance<U>;
      agree = arrays::detail::agrees(
          a, b, allowed.absolute + allowed.relative * std::abs(static_cast<double>(b)));
    } else {
      agree = std::memcmp(mine, right, sizeof(U)) == 0;
    }
    if (!agree) { return i; }
  }
  return {};
}

template <task T>
class task_of final : public any_task {
 public:
  explicit task_of(T of) : call(std::move(of)) {}
  facts known() const override { return facts_of(call); }
  void run(on::host where, int calls) const override {
    for (int i = 0; i < calls; ++i) { run_on_host(call, where); }
  }
  std::vector<written_bytes> written() const override {
    auto const one = []<class E>(task_array<E> const& of) {
      bool const is_read_only = of.way == direction::in;
      return written_bytes{is_read_only ? std::span<std::byte const>{} : std::as_bytes(of.data),
                           first_difference<std::remove_const_t<E>>};
    };
    return std::apply([&](auto const&... each) { return std::vector<written_bytes>{one(each)...}; },
                      call.arrays());
  }

  T call;
};

}  // namespace detail

/// Runs tasks on their paths, over arrays that are made anew for each size that is opened. Keeps
/// them until `close`, so that a size can be timed at several moments.
class any_task_bench : public bench {
 public:
  ~any_task_bench() override;

  void lie_in(memory_type memory) override;
  /// Draws the memory of each array of further calls: page-locked, pageable, or memory of each path
  /// itself, as likely one as the other.
  void mix();
  /// The types of host memory from which device paths copy; none without a device.
  std::vector<memory_type> host_memories() const override;
  void make_resident(resident_arrays which) override;
  /// Tasks of further calls may have other sizes than those that are asked for.
  void take_any_size() noexcept { any_size_ = true; }
  /// What is known before a measurement: the task, its paths, the machine.
  measurements described() const;

  /// Makes the arrays, which touches their memory, and the reference results. Returns the number
  /// for `open_again`.
  std::size_t open(std::size_t size) override;
  void open_again(std::size_t number) override;
  /// Frees the arrays of all sizes.
  void close();
  std::optional<std::string> wrong(std::size_t number) override;
  double seconds(std::size_t number, int calls) override;
  double group_seconds() const override { return 5e-6; }  // 100 times what the clock costs
  double now() const override;
  /// The facts of the calls of the open size. An array "in the memory of the device" is in host
  /// memory too: each path has it in memory of its own.
  facts const& known() const override { return at_->known; }

 protected:
  using make_task = std::function<std::unique_ptr<detail::any_task>(setup&, std::size_t)>;
  using make_device = std::unique_ptr<detail::any_device> (*)(on::device);

  /// `device` is null for tasks that run on the host alone.
  any_task_bench(std::string_view task, std::vector<path> paths, make_task make, make_device device,
                 std::uint64_t seed);

 private:
  /// A size with its arrays.
  struct opening {
    memory_type memory;
    bool mixed;
    facts known{};
    std::optional<setup> arrays{};
    std::unique_ptr<detail::any_task> task{};
    std::vector<std::vector<std::byte>> reference{};
  };

  void make_at(std::size_t size);
  std::shared_ptr<arrays::array_store> store();
  void locate();
  void take_home(array_fact& each) const;
  std::optional<std::string> difference() const;

  std::string name_;
  make_task make_;
  std::uint64_t seed_;
  std::vector<path> paths_;
  std::optional<on::device> place_;
  memory_type memory_ = memory_type::device;
  bool mixed_ = false;
  bool any_size_ = false;
  stats::random_source random_{seed_};
  std::unique_ptr<detail::any_device> device_;
  std::deque<opening> all_;
  opening* at_ = nullptr;
};

/// A bench of the tasks that `make` makes.
template <task T>
class task_bench : public any_task_bench {
 public:
  static_assert(!lacks_device_header<T>,
                "a task with run(cudaStream_t, ...) needs <assay/dispatch/device.hpp>");

  task_bench(std::vector<path> paths, std::function<T(setup&, std::size_t)> make,
             std::uint64_t seed)
      : any_task_bench(T::name, std::move(paths), erased(std::move(make)), device(), seed) {}

 private:
  static make_task erased(std::function<T(setup&, std::size_t)> make) {
    if (!make) { return {}; }
    return [make = std::move(make)](setup& arrays, std::size_t size) {
      return std::make_unique<detail::task_of<T>>(make(arrays, size));
    };
  }
  static make_device device() {
    if constexpr (has_device_run<T>) {
      return [](on::device place) -> std::unique_ptr<detail::any_device> {
        return std::make_unique<device_paths<T>>(place);
      };
    }
    return nullptr;
  }
};

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/task_bench_definitions.hpp>
#endif
