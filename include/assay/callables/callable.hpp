// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three kinds of callables, told apart by the arguments that they accept, and their types
/// erased.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/core/keep.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The type behind `cudaStream_t`, declared here so that no CUDA header is needed.
struct CUstream_st;

namespace assay {
namespace callables {

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

/// A callable of which the type is erased: what is timed. All copies share the callable.
class work {
 public:
  work() = default;
  work(std::shared_ptr<void> callable, void (*call)(void*, CUstream_st*)) noexcept
      : callable_(std::move(callable)), call_(call) {}
  /// Calls it; work on the host ignores the stream.
  void operator()(CUstream_st* on) const { call_(callable_.get(), on); }

 private:
  std::shared_ptr<void> callable_;
  void (*call_)(void*, CUstream_st*) = nullptr;
};

/// Makes work anew, with buffers of a setup.
using work_factory = std::function<work(setup&)>;

/// What erased code does with callables of one type.
struct callable_type {
  std::size_t bytes = 0, alignment = 0;
  void (*copy)(void* to, void const* from) = nullptr;  ///< null where it cannot be copied
  void (*move)(void* to, void* from) = nullptr;
  void (*destroy)(void*) noexcept = nullptr;
  void (*call)(void*, CUstream_st*) = nullptr;         ///< null for factories
  work (*make)(void* factory, setup& with) = nullptr;  ///< null for all but factories
  bool is_plain_data = false;  ///< trivially copyable, so that its bytes show what it refers to
};

/// The words of a callable's captured values.
using captured_words = std::vector<std::uintptr_t>;

/// A callable of any kind under its name.
struct erased_callable {
  std::string label;
  callable_type type;
  std::shared_ptr<void> callable;
};

namespace detail {

/// Moves a callable to a random place in host memory, and returns its owner. The place of
/// captured values is worth up to 14 % of a call of 4 us (a host of two cores). So no variant keeps
/// one place in all epochs.
std::shared_ptr<void> placed(callable_type const& of, void* from, std::uint64_t random_bits);
/// The same with a copy.
std::shared_ptr<void> placed_copy(callable_type const& of, void const* from,
                                  std::uint64_t random_bits);
[[noreturn]] void refuse_null_callable(std::string const& label);
[[noreturn]] void refuse_null_work();

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
                "this is no callable, or one that is generic or overloaded, so its kind cannot be "
                "told: pass f itself, not the result of a call of it; wrap a generic one as "
                "assay::host_call(f) for work on the host, assay::launch(f) for work on a stream, "
                "or assay::factory(f) for a function of assay::setup&");
  if constexpr (has_one_signature<F>) {
    static_assert(kinds_of<F> != 0 || !std::is_invocable_v<F&, setup>,
                  "a factory takes assay::setup by reference: write assay::setup&");
    static_assert(kinds_of<F> != 0 || std::is_invocable_v<F&, setup>,
                  "compare takes void(), void(cudaStream_t), or a function of assay::setup& that "
                  "returns one of these; this callable accepts none of those arguments");
    static_assert(kinds_of<F> < 2,
                  "this callable accepts the arguments of more than one kind: wrap it as "
                  "assay::host_call(f), assay::launch(f) or assay::factory(f)");
  } else {
    return callable_kind::host_call;  // so that the message above stands alone
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

/// Calls work of a kind, and keeps what a host call returns.
template <callable_kind Kind, class F>
void call_work(void* callable, [[maybe_unused]] CUstream_st* on) {
  auto& f = *static_cast<F*>(callable);
  if constexpr (Kind == callable_kind::launch) {
    (void)f(on);
  } else if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    f();
  } else {
    keep(f());
  }
}

template <class F>
callable_type type_of() {
  callable_type made{sizeof(F), alignof(F)};
  if constexpr (std::is_copy_constructible_v<F>) {
    made.copy = [](void* to, void const* from) { new (to) F(*static_cast<F const*>(from)); };
  }
  made.move = [](void* to, void* from) { new (to) F(std::move(*static_cast<F*>(from))); };
  made.destroy = [](void* callable) noexcept { static_cast<F*>(callable)->~F(); };
  made.is_plain_data = std::is_trivially_copyable_v<F>;
  return made;
}

/// The type of work of a known kind.
template <callable_kind Kind, class F>
callable_type work_type() {
  auto made = type_of<F>();
  made.call = call_work<Kind, F>;
  return made;
}

/// True if F is a factory that returns something. What is no such factory is refused elsewhere, and
/// code that is not compiled for it adds no errors to the message.
template <class F>
consteval bool makes_something() {
  if constexpr (std::is_invocable_v<F&, setup&>) {
    return !std::is_void_v<std::invoke_result_t<F&, setup&>>;
  }
  return false;
}

/// Moves work that a factory returned to a random place.
template <class F>
work made_work(F returned, setup& with) {
  auto made = named(std::move(returned));
  if constexpr (decltype(made)::kind != callable_kind::factory) {
    if (is_null(made.callable)) { refuse_null_work(); }
    auto const of = work_type<decltype(made)::kind, typename decltype(made)::type>();
    return {placed(of, &made.callable, with.draw_place()), of.call};
  }
  return {};
}

/// Calls a factory, and moves the work that it returns to a random place.
template <class F>
work call_factory([[maybe_unused]] void* factory, [[maybe_unused]] setup& with) {
  if constexpr (makes_something<F>()) { return made_work((*static_cast<F*>(factory))(with), with); }
  return {};
}

/// The `named_callable` of a callable of type F.
template <class F>
using named_type = decltype(named(std::declval<F>()));

}  // namespace detail

/// True if the work of a `named_callable`, or the work that it makes, runs on a stream.
template <class Named>
consteval bool runs_on_stream() {
  if constexpr (Named::kind == callable_kind::factory) {
    using type = typename Named::type;
    static_assert(detail::makes_something<type>() || !std::is_invocable_v<type&, setup&>,
                  "a factory returns the work that is timed: void() or void(cudaStream_t)");
    if constexpr (detail::makes_something<type>()) {
      constexpr auto kind = detail::named_type<std::invoke_result_t<type&, setup&>>::kind;
      static_assert(kind != callable_kind::factory, "a factory cannot return another factory");
      return kind == callable_kind::launch;
    }
    return false;
  } else {
    return Named::kind == callable_kind::launch;
  }
}

/// A callable of any kind with its type erased.
template <callable_kind Kind, class F>
erased_callable erase(std::string label, named_callable<Kind, F> from) {
  if (detail::is_null(from.callable)) { detail::refuse_null_callable(label); }
  callable_type type;
  if constexpr (Kind == callable_kind::factory) {
    type = detail::type_of<F>();
    type.make = detail::call_factory<F>;
  } else {
    type = detail::work_type<Kind, F>();
  }
  return {std::move(label), type, detail::placed(type, &from.callable, 0)};
}

}  // namespace callables

/// Names a callable as work on the host: `void()`. One call is timed.
template <class F>
auto host_call(F work) {
  return callables::named_callable<callables::callable_kind::host_call, F>{std::move(work)};
}

/// Names a callable as work that is enqueued on a stream: `void(cudaStream_t)`.
template <class F>
auto launch(F work) {
  return callables::named_callable<callables::callable_kind::launch, F>{std::move(work)};
}

/// Names a callable as a factory: it makes its buffers through an `assay::setup&` and returns
/// `void()` or `void(cudaStream_t)`. It is called anew in each epoch and for each buffer set.
template <class F>
auto factory(F make) {
  return callables::named_callable<callables::callable_kind::factory, F>{std::move(make)};
}

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/callables/callable_definitions.hpp>
#endif
