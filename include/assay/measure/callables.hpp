// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three kinds of callables that `compare` takes, told apart by the arguments they accept.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/core/keep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The type behind `cudaStream_t`, declared here so that no CUDA header is needed.
struct CUstream_st;

namespace assay {
namespace measure {

/// The kinds of callables: work on the host, work enqueued on a stream, and a factory of either,
/// which makes its buffers through a `setup`.
enum class callable_kind { host_call, launch, factory };

/// A callable of a known kind.
template <callable_kind Kind, class F>
struct named_callable {
  static constexpr callable_kind kind = Kind;
  using type = F;
  F callable;
};

namespace detail {

template <class F>
inline constexpr bool is_named = false;
template <callable_kind Kind, class F>
inline constexpr bool is_named<named_callable<Kind, F>> = true;

/// True if F has exactly one signature: a function, or an object with one `operator()` that is no
/// template. The kind of any other F is unknown until its body is compiled for other arguments.
template <class F>
inline constexpr bool has_one_signature =
    std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); };

template <class F>
inline constexpr int kinds_of =
    (std::is_invocable_v<F&> ? 1 : 0) + (std::is_invocable_v<F&, CUstream_st*> ? 1 : 0) +
    (std::is_invocable_v<F&, setup&> ? 1 : 0);

template <class F>
consteval callable_kind kind_of() {
  static_assert(has_one_signature<F>,
                "this callable is generic or overloaded, so its kind cannot be told: wrap it as "
                "assay::host_call(f) for work on the host, assay::launch(f) for work on a stream, "
                "or assay::factory(f) for a function of assay::setup&");
  if constexpr (has_one_signature<F>) {
    static_assert(kinds_of<F> != 0,
                  "compare takes void(), void(cudaStream_t), or a function of assay::setup& that "
                  "returns one of these; this callable accepts none of those arguments");
    static_assert(kinds_of<F> < 2,
                  "this callable accepts the arguments of more than one kind: wrap it as "
                  "assay::host_call(f), assay::launch(f) or assay::factory(f)");
  }
  return std::is_invocable_v<F&>                 ? callable_kind::host_call
         : std::is_invocable_v<F&, CUstream_st*> ? callable_kind::launch
                                                 : callable_kind::factory;
}

template <class F>
auto named(F callable) {
  if constexpr (is_named<F>) {
    return callable;
  } else {
    return named_callable<kind_of<F>(), F>{std::move(callable)};
  }
}

template <class F>
bool is_null(F const& callable) {
  if constexpr (requires { callable == nullptr; }) { return callable == nullptr; }
  return false;
}

template <class F>
void call_and_keep(F& callable) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    callable();
  } else {
    keep(callable());
  }
}

/// Moves a callable to a random place in host memory. Where its captured values lie is worth up to
/// 14 % of a call of 4 us (a host of two cores), so no variant may keep one place in all epochs.
template <class F>
std::shared_ptr<F> placed(F from, std::uint64_t random_bits) {
  constexpr std::size_t spread = std::max<std::size_t>(4096, 4 * alignof(F));  // a page
  constexpr std::align_val_t alignment{std::max(alignof(F), alignof(std::max_align_t))};
  std::shared_ptr<std::byte> const block{
      static_cast<std::byte*>(::operator new(sizeof(F) + spread, alignment)),
      [](std::byte* memory) { ::operator delete(memory, alignment); }};
  auto const offset = random_bits % (spread / alignof(F)) * alignof(F);
  auto* const made = new (block.get() + offset) F(std::move(from));
  return {made, [block](F* callable) { std::destroy_at(callable); }};
}

/// Work that calls a callable, which all copies of the work share.
template <class Signature, class F>
std::function<Signature> as_work(std::shared_ptr<F> shared) {
  if constexpr (std::is_same_v<Signature, void()>) {
    return [shared] { call_and_keep(*shared); };
  } else {
    return [shared](CUstream_st* on) { (void)(*shared)(on); };
  }
}

/// The `named_callable` of a callable of type F.
template <class F>
using named_type = decltype(named(std::declval<F>()));

}  // namespace detail

/// True if the work of a `named_callable`, or the work that it makes, runs on a stream.
template <class Named>
consteval bool runs_on_stream() {
  if constexpr (Named::kind == callable_kind::factory) {
    using made = std::invoke_result_t<typename Named::type&, setup&>;
    static_assert(!std::is_void_v<made>,
                  "a factory returns the work that is timed: void() or void(cudaStream_t)");
    constexpr auto kind = detail::named_type<made>::kind;
    static_assert(kind != callable_kind::factory, "a factory cannot return another factory");
    return kind == callable_kind::launch;
  } else {
    return Named::kind == callable_kind::launch;
  }
}

/// A factory of work with erased types; `Signature` is `void()` or `void(CUstream_st*)`.
template <class Signature>
using work_factory = std::function<std::function<Signature>(setup&)>;

/// A callable of any kind as a factory. A factory is one object in all epochs. Work is copied to a
/// new place for each buffer set and epoch, and work that cannot be copied stays where it is.
template <class Signature, callable_kind Kind, class F>
work_factory<Signature> as_factory(std::string const& label, named_callable<Kind, F> from) {
  if (detail::is_null(from.callable)) {
    throw std::invalid_argument("\"" + label + "\" is a null callable: pass a function to time");
  }
  if constexpr (Kind == callable_kind::factory) {
    auto const shared = std::make_shared<F>(std::move(from.callable));
    return [shared](setup& make) {
      auto made = detail::named((*shared)(make)).callable;
      if (detail::is_null(made)) {
        throw std::invalid_argument("its factory returned a null callable");
      }
      return detail::as_work<Signature>(detail::placed(std::move(made), make.draw_place()));
    };
  } else if constexpr (std::is_copy_constructible_v<F>) {
    return [first = std::move(from.callable)](setup& make) {
      return detail::as_work<Signature>(detail::placed(F(first), make.draw_place()));
    };
  } else {
    auto const only = std::make_shared<F>(std::move(from.callable));
    return [only](setup&) { return detail::as_work<Signature>(only); };
  }
}

/// The words of a callable's captured values, or nothing where its type hides what it owns.
using captured_words = std::optional<std::vector<std::uintptr_t>>;

/// A closure of pointers and numbers is trivially copyable, and has its pointers at multiples of
/// their size.
template <class F>
captured_words captured_by(F const& callable) {
  std::vector<std::uintptr_t> words;
  if constexpr (std::is_trivially_copyable_v<F>) {
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= sizeof(F);
         at += sizeof(std::uintptr_t)) {
      std::memcpy(&words.emplace_back(), reinterpret_cast<std::byte const*>(&callable) + at,
                  sizeof(std::uintptr_t));
    }
    return words;
  } else {
    return {};
  }
}

/// The writable memory of this process at one moment, from `/proc/self/maps`.
class writable_memory {
 public:
  writable_memory() {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
      std::istringstream fields{line};
      range next{};
      char dash = 0;
      std::string rights;
      fields >> std::hex >> next.begin >> dash >> next.end >> rights;
      if (fields && rights.find('w') != std::string::npos) { ranges_.push_back(next); }
    }
  }

  bool contains(std::uintptr_t address) const noexcept {
    for (auto const& each : ranges_) {
      if (address >= each.begin && address < each.end) { return true; }
    }
    return false;
  }

 private:
  struct range {
    std::uintptr_t begin = 0, end = 0;
  };
  std::vector<range> ranges_;
};

}  // namespace measure

/// Names a callable as work on the host: `void()`. One call is timed.
template <class F>
auto host_call(F work) {
  return measure::named_callable<measure::callable_kind::host_call, F>{std::move(work)};
}

/// Names a callable as work that is enqueued on a stream: `void(cudaStream_t)`.
template <class F>
auto launch(F work) {
  return measure::named_callable<measure::callable_kind::launch, F>{std::move(work)};
}

/// Names a callable as a factory: it makes its buffers through an `assay::setup&` and returns
/// `void()` or `void(cudaStream_t)`. It is called anew in each epoch and for each buffer set.
template <class F>
auto factory(F make) {
  return measure::named_callable<measure::callable_kind::factory, F>{std::move(make)};
}

}  // namespace assay
