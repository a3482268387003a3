// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::overlapped`: copies in, kernels and copies out at once.
#pragma once

#include <assay/transfer/courier.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/link_terms.hpp>
#include <assay/transfer/overlap_fit.hpp>
#include <assay/transfer/overlap_pick.hpp>
#include <assay/transfer/planned_job.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Cuts a job into chunks and keeps both copy engines and the compute engine busy with different
/// ones. A stream for each engine, breadth-first; room on the device for `streams` chunks, reused
/// by events alone, so that the host waits for nothing but pageable arrays, which are staged.
///
/// 0 is picked by the model, from terms that are measured once per process and device or given
/// here: what was picked and why says `plan()` of the engine. Chunks that are counted here are
/// equal; those that are picked are ramped where one stage is much slower than the others.
///
/// With `trials`, a job that is run again and again measures its own plan: its first runs are dealt
/// over a `short_list` round the model's pick, so many times each, and the fastest stays. It costs
/// no run beyond those asked for, but up to 5 x `trials` of them may take some percent longer than
/// the best, and each two events. Captured runs try nothing; a run that is asked for while a trial
/// is under way takes its plan, untimed.
struct overlapped {
  int chunks = 0;
  int streams = 0;  ///< chunks under way at once, each with room on the device
  std::optional<overlap_terms> terms{};
  staging bounce{};
  int trials = 0;  ///< 0: the model's word counts; 3 tell plans apart that differ by 1 %

  static constexpr std::string_view name = "transfer::overlapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  std::string describe() const {
    parameter_list all;
    all.show("chunks", chunks, 0).show("streams", streams, 0);
    if (terms) { all.show("caller's terms"); }
    if (bounce != staging{}) {
      parameter_list how;
      bounce.show(how);
      all.show(how.after("bounce="));
    }
    return all.show("trials", trials, 0).after(name);
  }

  bool picks() const noexcept { return chunks == 0 || streams == 0; }

  /// Throws `std::invalid_argument` that names the field and what is allowed.
  void validate() const {
    if (chunks < 0 || streams < 0) {
      throw std::invalid_argument(std::string{name} + ": chunks is " + std::to_string(chunks) +
                                  " and streams is " + std::to_string(streams) +
                                  ", but each must be 0 (picked) or more");
    }
    if (trials >= 0 && (trials == 0 || chunks == 0)) { return; }
    throw std::invalid_argument(std::string{name} + ": trials is " + std::to_string(trials) +
                                (trials < 0 ? ", but must be 0 (none) or more"
                                            : ", but with chunks given there is one plan: leave "
                                              "either at 0"));
  }

  template <class Memory>
  auto open(on::device place, Memory memory) const;

  bool operator==(overlapped const&) const = default;
};
static_assert(transfer_policy<overlapped>);

/// What `transfer::overlapped` opens. It remembers the plans of the last jobs: a job is known by
/// its sizes and the type of its `compute`. The first run of one whose kernel time is not given
/// takes it for nothing; later runs plan by the time that its chunks were seen to take. Plans have
/// room for themselves in half of the device's memory.
template <class Link, class Memory>
class overlapped_engine {
 public:
  using stream_type = typename Link::stream_type;
  static constexpr auto wants = overlapped::wants;
  static constexpr bool blocks_host = overlapped::blocks_host;
  static constexpr bool capturable = overlapped::capturable;

  /// `terms` may be empty only where nothing is picked.
  overlapped_engine(overlapped how, std::optional<overlap_terms> terms, Link link, Memory memory)
      : state_(std::make_shared<state>(how, terms, std::move(link), std::move(memory))) {}

  /// See `transfer_policy`. Over pageable data it blocks, and cannot be captured.
  template <class Compute>
  void run(stream_type stream, job<Compute> const& what) {
    range const scope{overlapped::name.data(), category::transfer,
                      static_cast<std::uint64_t>(what.elements)};
    auto& mine = *state_;
    auto& link = mine.carrier.link();
    auto const arrays = arrays_of(link, what);
    if (what.elements == 0) { return; }
    bool const captured = link.capturing(stream);
    if (any_pageable(arrays)) { refuse_capture(overlapped::name, link, stream); }
    if (!captured) { mine.learn(); }
    auto& known = mine.plan_for(what);
    // An event that a graph records cannot be asked for its time.
    if (captured || !mine.terms || mine.timing != nullptr) {
      mine.carrier.run(stream, what, arrays, true, known.by);
      return;
    }
    if (mine.tries(known, what.compute_seconds > 0)) {
      link.record(mine.begin, stream);
      mine.carrier.run(stream, what, arrays, true, known.by);
      link.record(mine.end, stream);
      mine.timing = mine.last;
      return;
    }
    bool const times = what.compute_seconds <= 0 && known.samples();
    timed_chunks<event_type> timed;
    if (times) {
      auto const [first, last] = known.timed();
      timed = {first, last, &mine.begin, &mine.end, &mine.last_end};
    }
    mine.carrier.run(stream, what, arrays, true, known.by, timed);
    if (times) { mine.timing = mine.last; }
  }

  /// Whether the last job's plan stays as it is: its kernel's time is known, and so are the times
  /// of all plans that `trials` asks for. Looks at what has passed since.
  bool settled() {
    auto& mine = *state_;
    mine.learn();
    return mine.last != nullptr && mine.timing == nullptr &&
           (!mine.terms || mine.last->of.compute_seconds > 0 || mine.last->knows_kernel()) &&
           (mine.how.trials == 0 || (mine.last->listed && !mine.last->trials.wanted()));
  }

  /// The plan of the last job that was run, with what was picked and why in `why`.
  /// Empty before the first; good until the next.
  overlap_plan const& plan() const noexcept {
    static overlap_plan const none;
    return state_->last == nullptr ? none : state_->last->plan;
  }

  bool operator==(overlapped_engine const&) const = default;

 private:
  using event_type = typename Link::event_type;

  struct state {
    state(overlapped policy, std::optional<overlap_terms> known, Link link, Memory memory)
        : how(std::move(policy)),
          terms(known),
          begin(link.make_event(Link::timed)),
          end(link.make_event(Link::timed)),
          last_end(link.make_event(Link::timed)),
          room_bytes(link.device_bytes() / 2),
          carrier(std::move(link), std::move(memory), how.bounce) {
      how.validate();
      carrier.expect(deal::by_engine, how.streams == 0 ? overlap_limits{}.max_slots : how.streams);
    }

    template <class Compute>
    planned_job& plan_for(job<Compute> const& what) {
      planned_job::key const wanted{size_of(what), what.compute_seconds,
                                    std::type_index{typeid(Compute)}};
      auto found = std::find_if(entries.begin(), entries.end(),
                                [&](auto const& each) { return each->of == wanted; });
      if (found == entries.end()) {
        constexpr std::size_t most = 32;
        if (entries.size() == most) {
          if (timing == entries.front().get()) { timing = nullptr; }
          entries.erase(entries.begin());
        }
        entries.push_back(std::make_unique<planned_job>(planned_job{wanted}));
        found = entries.end() - 1;
        (*found)->seconds_per_element = what.compute_seconds / static_cast<double>(what.elements);
        plan_anew(**found);
      }
      last = found->get();
      return *last;
    }

    /// Whether this run is to time a plan of the short list, which it then takes.
    bool tries(planned_job& known, bool kernel_given) {
      if (how.trials == 0 || (!kernel_given && !known.knows_kernel())) { return false; }
      if (!known.listed) {
        known.list = short_list(terms_with(known), known.of.size, limits());
        known.trials = plan_trials{known.list.size(), how.trials};
        known.listed = true;
      }
      known.trying = known.trials.wanted();
      if (!known.trying) { return false; }
      take(known, known.list[*known.trying]);
      return true;
    }

    /// Takes the times of an earlier run once they are known.
    void learn() {
      if (timing == nullptr) { return; }
      if (timing->trying) {
        auto const seconds = carrier.link().seconds_between(begin, end);
        if (!seconds) { return; }
        auto& known = *std::exchange(timing, nullptr);
        known.trials.add(*std::exchange(known.trying, std::nullopt), *seconds);
        auto plan = known.list[known.trials.best()];
        plan.why += "; the fastest so far of " + std::to_string(known.list.size()) +
                    " plans that were measured";
        take(known, std::move(plan));
        return;
      }
      auto const [first, last_one] = timing->timed();
      auto const seconds = carrier.link().seconds_between(begin, end);
      auto const next =
          last_one < 0 ? std::optional{0.0} : carrier.link().seconds_between(end, last_end);
      if (!seconds || !next) { return; }
      auto& known = *std::exchange(timing, nullptr);
      ++known.sightings;
      auto const seen = kernel_seconds_per_element(
          {*seconds, known.by.cut.chunks[static_cast<std::size_t>(first)], *next,
           known.elements_after(first, last_one)},
          terms->kernel_overhead_seconds);
      auto const change =
          std::abs(seen - known.seconds_per_element) * static_cast<double>(known.of.size.elements);
      // Times vary; a plan that follows each of them would never be the same twice.
      constexpr int most_plans = 4;
      if (change < 0.05 * known.plan.bound_seconds || known.plans == most_plans) { return; }
      known.seconds_per_element = seen;
      plan_anew(known);
    }

    overlap_limits limits() const {
      overlap_limits made;
      made.device_bytes = room_bytes;
      if (how.streams > 0) { made.max_slots = how.streams; }
      return made;
    }
    overlap_terms terms_with(planned_job const& known) const {
      auto all = terms.value_or(overlap_terms{});
      all.kernel_seconds_per_element = known.seconds_per_element;
      return all;
    }

    void plan_anew(planned_job& known) {
      auto const& size = known.of.size;
      ++known.plans;
      known.sightings = 0;
      known.listed = false;
      auto const all = terms_with(known);
      if (how.chunks == 0) { return take(known, pick(all, size, limits())); }
      overlap_plan plan;
      plan.chunks = equal_chunks(size.elements, size.granularity, how.chunks);
      plan.slots = std::min(limits().max_slots, static_cast<int>(plan.chunks.size()));
      plan.why = "the caller asked for these chunks";
      if (terms) {
        plan.seconds = chunked_seconds(all, size, plan.chunks, plan.slots);
        plan.bound_seconds = stages_of(all, size).bound();
      }
      take(known, std::move(plan));
    }

    void take(planned_job& known, overlap_plan plan) {
      known.plan = std::move(plan);
      auto& slots = known.plan.slots;
      if (how.streams > 0) { slots = how.streams; }
      slots = std::min(slots, static_cast<int>(known.plan.chunks.size()));
      known.by = route_of({known.plan.chunks, slots,
                           known.plan.chunks.size() == 1 ? deal::in_one_queue : known.plan.how},
                          known.of.size.inputs > 0, known.of.size.outputs > 0);
    }

    overlapped how;
    std::optional<overlap_terms> terms;
    event_type begin, end, last_end;  ///< round what `timing` names
    double room_bytes;
    std::vector<std::unique_ptr<planned_job>> entries;
    planned_job* timing = nullptr;  ///< the job whose chunks are timed
    planned_job* last = nullptr;
    courier<Link, Memory> carrier;
  };

  template <class Compute>
  static overlap_size size_of(job<Compute> const& what) {
    auto const bytes = [&](auto const& arrays) {
      double sum = 0;
      for (auto const& each : arrays) { sum += static_cast<double>(each.element_bytes); }
      return sum * static_cast<double>(what.elements);
    };
    return {bytes(what.inputs),
            bytes(what.outputs),
            what.elements,
            aligned(what.granularity, what.elements),
            static_cast<int>(what.inputs.size()),
            static_cast<int>(what.outputs.size())};
  }

  /// Chunks of large jobs start at pages of every array whose first element does, since copy
  /// engines are fastest on whole lines.
  static std::int64_t aligned(std::int64_t granularity, std::int64_t elements) {
    constexpr std::int64_t page = 4096;  // elements, of a byte or more
    constexpr std::int64_t steps = 64;   // coarser ones would bend the plan
    if (granularity > elements / steps / page) { return granularity; }
    return std::lcm(granularity, page) <= elements / steps ? std::lcm(granularity, page)
                                                           : granularity;
  }

  std::shared_ptr<state> state_;
};

template <class Memory>
auto overlapped::open(on::device place, Memory memory) const {
  validate();
  auto known = terms;
  if (!known && picks()) { known = link_terms_of(place); }
  return overlapped_engine<cuda_link, Memory>{*this, known, cuda_link{place}, std::move(memory)};
}

}  // namespace assay::transfer
