// SPDX-License-Identifier: Apache-2.0
/// @file
/// `pipeline`: a workload with one policy on each axis.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/copy/regular.hpp>
#include <assay/core/place.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/memory/heap.hpp>
#include <assay/submit/concepts.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/concepts.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay {

/// The memory policy of a pipeline that names none, by place: specialised where the policy is.
template <class Place>
struct default_memory;

template <>
struct default_memory<on::host> {
  using type = mr::heap;
};

namespace detail {

/// The axes of the library; `none` stands for the workload and its own axes.
enum class axis { none, place, memory, submission, transfer, copy };

/// The names of the axes in reports, in the order of `axis`.
inline constexpr std::array<std::string_view, 6> axis_names{"workload",   "place",    "memory",
                                                            "submission", "transfer", "copy"};

/// The axis on which `P` is a choice for pipelines at `Place`.
template <class P, class Place>
consteval axis axis_of() {
  if constexpr (any_place<P>) {
    return axis::place;
  } else if constexpr (submission_mode<P>) {
    static_assert(!memory_policy<P, Place>, "a policy must be a choice on one axis only");
    return axis::submission;
  } else if constexpr (transfer_policy<P> || std::same_as<P, no_transfer>) {
    static_assert(!memory_policy<P, Place>, "a policy must be a choice on one axis only");
    return axis::transfer;
  } else if constexpr (copy_strategy<P> || std::same_as<P, no_copy>) {
    static_assert(!memory_policy<P, Place>, "a policy must be a choice on one axis only");
    return axis::copy;
  } else if constexpr (memory_policy<P, Place> ||
                       memory_resource<P, typename place_traits<Place>::stream_type>) {
    return axis::memory;
  } else {
    return axis::none;
  }
}

/// The name in reports of the axis on which `P` is a choice.
template <class P, class Place>
consteval std::string_view axis_name() {
  if constexpr (constexpr auto known = axis_of<P, Place>(); known != axis::none) {
    return axis_names[static_cast<std::size_t>(known)];
  } else if constexpr (workload_policy<P>) {
    return P::axis;
  } else {
    return axis_names[0];
  }
}

/// True if the axes of a workload have names of their own.
template <class... P>
consteval bool are_new_axes(std::tuple<P...> const*) {
  bool all = true;
  for ([[maybe_unused]] auto const known : axis_names) { all = all && ((known != P::axis) && ...); }
  return all;
}

template <class Place>
Place place_among(Place fallback) {
  return fallback;
}
template <class Place, class First, class... Rest>
auto place_among(Place fallback, First const& first, Rest const&... rest) {
  if constexpr (any_place<First>) {
    return first;
  } else {
    return detail::place_among(fallback, rest...);
  }
}

template <axis Wanted, class Place, class Default>
Default choice_among(Default fallback) {
  return fallback;
}
template <axis Wanted, class Place, class Default, class First, class... Rest>
auto choice_among(Default fallback, First const& first, Rest const&... rest) {
  if constexpr (axis_of<First, Place>() == Wanted) {
    return first;
  } else {
    return detail::choice_among<Wanted, Place>(fallback, rest...);
  }
}

/// A live resource becomes the policy `mr::borrowed`; a policy stays itself.
template <class Place, class M>
auto as_memory_policy(M choice) {
  if constexpr (memory_policy<M, Place>) {
    return choice;
  } else {
    return mr::borrowed<M>{std::move(choice)};
  }
}

template <class Place, class... P>
auto memory_among(P const&... policies) {
  using fallback = typename default_memory<Place>::type;
  return detail::as_memory_policy<Place>(
      detail::choice_among<axis::memory, Place>(fallback{}, policies...));
}

template <class Place, class... P>
auto submission_among(P const&... policies) {
  return detail::choice_among<axis::submission, Place>(submit::sequential{}, policies...);
}

template <class Place, class... P>
auto transfer_among(P const&... policies) {
  return detail::choice_among<axis::transfer, Place>(no_transfer{}, policies...);
}

/// The copy strategy of a pipeline of `Work`: none where it takes none, else the one chosen.
template <class Work, class Place, class... P>
auto copy_among(P const&... policies) {
  if constexpr (!takes_copy_strategy<Work>) {
    return no_copy{};
  } else {
    auto const chosen = detail::choice_among<axis::copy, Place>(no_copy{}, policies...);
    if constexpr (std::same_as<decltype(chosen), no_copy const>) {
      return copy::regular<>{};
    } else {
      return chosen;
    }
  }
}

/// True if `P` is a choice on an axis that `Work` brings.
template <class Work, class Place, class P>
inline constexpr bool is_own_choice = axis_of<P, Place>() == axis::none && takes_policy<Work, P>;

/// The workload with the policies that are choices on its own axes.
template <class Place, class Work>
Work work_with(Work work) {
  return work;
}
template <class Place, class Work, class First, class... Rest>
auto work_with(Work work, First const& first, Rest const&... rest) {
  if constexpr (is_own_choice<Work, Place, First>) {
    return detail::work_with<Place>(work.with(first), rest...);
  } else {
    return detail::work_with<Place>(std::move(work), rest...);
  }
}

/// `pipeline{...}`, for use inside the class: nvcc 13.0 takes the name there for the class itself.
template <class Work, class... P>
auto make_pipeline(Work const& work, P const&... policies);

template <class... P>
using place_of = decltype(detail::place_among(on::device{}, std::declval<P const&>()...));

/// True if no two of the policies are choices on the same axis, also on one of a workload.
template <class... P>
consteval bool each_axis_once() {
  std::array<std::string_view, sizeof...(P)> const names{axis_name<P, place_of<P...>>()...};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) { return false; }
    }
  }
  return true;
}

/// False if a policy is a copy strategy, and `Work` takes none.
template <class Work, class... P>
inline constexpr bool copy_is_taken = takes_copy_strategy<Work> || !(copy_strategy<P> || ...);

}  // namespace detail

/// Anything that `pipeline` takes beside the workload: a choice on exactly one axis.
template <class P, class Place>
concept pipeline_policy = detail::axis_of<P, Place>() != detail::axis::none;

/// Anything that can stand for the workload of a pipeline, at whatever place.
template <class W>
concept any_workload = policy<W> && requires(W const& work) {
  { work.item_traffic() } -> std::same_as<traffic>;
};

/// The reason why `pipeline::with` refuses a type, which is neither a choice on an axis nor an
/// `any_workload`. A memory policy needs a const `open(place)`. A choice of a workload needs the
/// name of its `axis`.
struct neither_policy_nor_workload;

/// A workload and one policy on each axis; a value that can be compared, copied and changed in one
/// axis by `with`.
///
/// `pipeline{work, policies...}` takes the policies in any order and tells them apart by their
/// concepts. Choices on axes of the workload may be among them. An axis that is not named has its
/// default: `on::device{0}`, `submit::sequential{}`, `default_memory` of the place, no transfer:
/// data is resident where the work runs, and `copy::regular<>` where the workload takes a copy
/// strategy, else none. A live memory resource (ours, CCCL's, RMM's) may stand for a memory policy.
/// Nothing is opened, started or allocated before a `rig` is made of it. A transfer and a copy
/// strategy count on a device only: on the host there is no link to cross and no tile to bring in.
template <policy Work, any_place Place, memory_policy<Place> Memory, submission_mode Submit,
          policy Transfer = no_transfer, policy Copy = no_copy>
struct pipeline {
  static_assert(detail::are_new_axes(
                    static_cast<decltype(workloads::own_choices(std::declval<Work>()))*>(nullptr)),
                "an axis that a workload brings needs a name that no other axis has");

  Work work;
  Place place;
  Memory memory;
  Submit submit;
  Transfer transfer;
  Copy copy;

  template <class From, class... Policies>
  requires((pipeline_policy<Policies, Place> || takes_policy<From, Policies>) && ...) &&
              std::same_as<Work, decltype(detail::work_with<Place>(
                                     std::declval<From>(), std::declval<Policies const&>()...))>
  explicit pipeline(From workload, Policies const&... policies)
      : work(detail::work_with<Place>(std::move(workload), policies...)),
        place(detail::place_among(on::device{}, policies...)),
        memory(detail::memory_among<Place>(policies...)),
        submit(detail::submission_among<Place>(policies...)),
        transfer(detail::transfer_among<Place>(policies...)),
        copy(detail::copy_among<Work, Place>(policies...)) {
    static_assert(detail::each_axis_once<Policies...>(),
                  "two of these policies are choices on the same axis");
    static_assert(detail::copy_is_taken<Work, Policies...>,
                  "this workload takes no copy strategy: its kernels have no tiles to bring in");
  }

  /// A copy that differs in one axis: the one on which `choice` is a choice, else one that the
  /// workload brings, else the workload.
  template <class Choice>
  requires(pipeline_policy<Choice, Place> || takes_policy<Work, Choice> || any_workload<Choice>)
  auto with(Choice const& choice) const {
    constexpr auto axis = detail::axis_of<Choice, Place>();
    if constexpr (axis == detail::axis::place) {
      static_assert(memory_policy<Memory, Choice>,
                    "this pipeline's memory policy cannot open on that place: write a pipeline "
                    "with both");
      return detail::make_pipeline(work, choice, memory, submit, transfer, copy);
    } else if constexpr (axis == detail::axis::memory) {
      return detail::make_pipeline(work, place, choice, submit, transfer, copy);
    } else if constexpr (axis == detail::axis::submission) {
      return detail::make_pipeline(work, place, memory, choice, transfer, copy);
    } else if constexpr (axis == detail::axis::transfer) {
      return detail::make_pipeline(work, place, memory, submit, choice, copy);
    } else if constexpr (axis == detail::axis::copy) {
      return detail::make_pipeline(work, place, memory, submit, transfer, choice);
    } else if constexpr (takes_policy<Work, Choice>) {
      return with(work.with(choice));
    } else if constexpr (takes_copy_strategy<Choice>) {
      return detail::make_pipeline(choice, place, memory, submit, transfer, copy);
    } else {
      return detail::make_pipeline(choice, place, memory, submit, transfer);
    }
  }

  /// Refuses all else. The compiler's message names the type and, by the return type, the reason.
  template <class Choice>
  requires(!pipeline_policy<Choice, Place> && !takes_policy<Work, Choice> && !any_workload<Choice>)
  neither_policy_nor_workload with(Choice const&) const = delete;

  /// The bytes that one batch must move, and its FLOPs.
  traffic batch_traffic() const { return work.item_traffic() * submit.batch_items(); }

  /// True if the items carry data over the link.
  static constexpr bool crosses_link =
      std::same_as<Place, on::device> && !std::same_as<Transfer, no_transfer>;

  /// True if the kernels bring in tiles by the copy strategy.
  static constexpr bool copies_tiles = std::same_as<Place, on::device> && takes_copy_strategy<Work>;

  /// Calls `visit(name, choice, counts)` for each axis, by its name in reports; the axes of the
  /// workload come last. `counts` is false where the place or the workload does not use the axis.
  template <class Visit>
  void for_each_axis(Visit&& visit) const {
    auto const& names = detail::axis_names;
    visit(names[0], work, true);
    visit(names[1], place, true);
    visit(names[2], memory, true);
    visit(names[3], submit, true);
    visit(names[4], transfer, crosses_link);
    visit(names[5], copy, copies_tiles);
    std::apply([&]<class... P>(P const&... own) { (visit(P::axis, own, true), ...); },
               workloads::own_choices(work));
  }

  /// Each axis that counts, with the choice on it, as a report calls them.
  std::vector<std::pair<std::string, std::string>> axes() const {
    std::vector<std::pair<std::string, std::string>> all;
    for_each_axis([&](std::string_view name, auto const& choice, bool counts) {
      if (counts) { all.emplace_back(name, describe(choice)); }
    });
    return all;
  }

  bool operator==(pipeline const&) const = default;
};

template <class Work, class... Policies>
pipeline(Work, Policies const&...)
    -> pipeline<decltype(detail::work_with<detail::place_of<Policies...>>(
                    std::declval<Work>(), std::declval<Policies const&>()...)),
                detail::place_of<Policies...>,
                decltype(detail::memory_among<detail::place_of<Policies...>>(
                    std::declval<Policies const&>()...)),
                decltype(detail::submission_among<detail::place_of<Policies...>>(
                    std::declval<Policies const&>()...)),
                decltype(detail::transfer_among<detail::place_of<Policies...>>(
                    std::declval<Policies const&>()...)),
                decltype(detail::copy_among<Work, detail::place_of<Policies...>>(
                    std::declval<Policies const&>()...))>;

namespace detail {

template <class Work, class... P>
auto make_pipeline(Work const& work, P const&... policies) {
  return pipeline{work, policies...};
}

}  // namespace detail
}  // namespace assay
