// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::overlapped`: copies in, kernels and copies out at once.
#pragma once

#include <assay/transfer/courier.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/link_terms.hpp>
#include <assay/transfer/overlap_fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
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
/// equal; those that are picked may be ramped.
struct overlapped {
  int chunks = 0;
  int streams = 0;  ///< chunks under way at once, each with room on the device
  std::optional<overlap_terms> terms{};
  staging bounce{};

  static constexpr std::string_view name = "transfer::overlapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  std::string describe() const {
    std::string fields;
    if (chunks != 0) { fields += "chunks=" + std::to_string(chunks); }
    if (streams != 0) {
      fields += (fields.empty() ? "" : ", ") + ("streams=" + std::to_string(streams));
    }
    if (terms) { fields += (fields.empty() ? "" : ", ") + std::string{"caller's terms"}; }
    return std::string{name} + (fields.empty() ? "" : '{' + fields + '}');
  }

  bool picks() const noexcept { return chunks == 0 || streams == 0; }

  /// Throws `std::invalid_argument` that names the field and what is allowed.
  void validate() const {
    if (chunks >= 0 && streams >= 0) { return; }
    throw std::invalid_argument(std::string{name} + ": chunks is " + std::to_string(chunks) +
                                " and streams is " + std::to_string(streams) +
                                ", but each must be 0 (picked) or more");
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
    auto const& known = mine.plan_for(what);
    timed_chunks<event_type> timed;
    // An event that a graph records cannot be asked for its time.
    bool const times = !captured && mine.terms && !mine.timing && what.compute_seconds <= 0;
    if (times) {
      auto const [first, last] = known.timed();
      timed = {first, last, &mine.begin, &mine.end, &mine.last_end};
    }
    mine.carrier.run(stream, what, arrays, true, known.cut, timed);
    if (times) { mine.timing = mine.last; }
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

  struct key {
    overlap_size size;
    double compute_seconds;
    std::type_index compute;
    bool operator==(key const&) const = default;
  };
  struct entry {
    key of;
    double seconds_per_element = 0;
    int plans = 0;
    overlap_plan plan{};
    cutting cut{};

    /// The first and the last chunk that is no part of a ramp; -1 for the last where so few are
    /// between them that their time would be that of a beginning and an end.
    std::pair<int, int> timed() const {
      auto const most = *std::max_element(cut.chunks.begin(), cut.chunks.end());
      auto const full = [&](std::int64_t each) { return 10 * each >= 9 * most; };
      auto const first = std::find_if(cut.chunks.begin(), cut.chunks.end(), full);
      auto const last = std::find_if(cut.chunks.rbegin(), cut.chunks.rend(), full).base() - 1;
      constexpr std::ptrdiff_t fewest = 4;
      return {static_cast<int>(first - cut.chunks.begin()),
              last - first < fewest ? -1 : static_cast<int>(last - cut.chunks.begin())};
    }
    /// Elements of the chunks after `from`, up to `to`.
    std::int64_t elements_after(int from, int to) const {
      return to < 0 ? 0
                    : std::accumulate(cut.chunks.begin() + from + 1, cut.chunks.begin() + to + 1,
                                      std::int64_t{0});
    }
  };

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
    entry& plan_for(job<Compute> const& what) {
      key const wanted{size_of(what), what.compute_seconds, std::type_index{typeid(Compute)}};
      auto found = std::find_if(entries.begin(), entries.end(),
                                [&](auto const& each) { return each->of == wanted; });
      if (found == entries.end()) {
        constexpr std::size_t most = 32;
        if (entries.size() == most) {
          if (timing == entries.front().get()) { timing = nullptr; }
          entries.erase(entries.begin());
        }
        entries.push_back(std::make_unique<entry>(entry{wanted}));
        found = entries.end() - 1;
        (*found)->seconds_per_element = what.compute_seconds / static_cast<double>(what.elements);
        plan_anew(**found);
      }
      last = found->get();
      return *last;
    }

    /// Takes the kernel time of an earlier run into its plan once it is known, if it matters there.
    void learn() {
      if (timing == nullptr) { return; }
      auto const [first, last] = timing->timed();
      auto const seconds = carrier.link().seconds_between(begin, end);
      auto const next =
          last < 0 ? std::optional{0.0} : carrier.link().seconds_between(end, last_end);
      if (!seconds || !next) { return; }
      auto& known = *std::exchange(timing, nullptr);
      auto const seen =
          kernel_seconds_per_element({*seconds, known.cut.chunks[static_cast<std::size_t>(first)],
                                      *next, known.elements_after(first, last)},
                                     terms->kernel_overhead_seconds);
      auto const change =
          std::abs(seen - known.seconds_per_element) * static_cast<double>(known.of.size.elements);
      // Times vary; a plan that follows each of them would never be the same twice.
      constexpr int most_plans = 4;
      if (change < 0.05 * known.plan.bound_seconds || known.plans == most_plans) { return; }
      known.seconds_per_element = seen;
      plan_anew(known);
    }

    void plan_anew(entry& known) {
      auto const& size = known.of.size;
      ++known.plans;
      overlap_limits limits;
      limits.device_bytes = room_bytes;
      if (how.streams > 0) { limits.max_slots = how.streams; }
      auto all = terms.value_or(overlap_terms{});
      all.kernel_seconds_per_element = known.seconds_per_element;
      if (how.chunks == 0) {
        known.plan = pick(all, size, limits);
      } else {
        known.plan = {equal_chunks(size.elements, size.granularity, how.chunks), limits.max_slots,
                      0, 0, "the caller asked for these chunks"};
      }
      auto& slots = known.plan.slots;
      if (how.streams > 0) { slots = how.streams; }
      slots = std::min(slots, static_cast<int>(known.plan.chunks.size()));
      if (terms && how.chunks > 0) {
        known.plan.seconds = chunked_seconds(all, size, known.plan.chunks, slots);
        known.plan.bound_seconds = stages_of(all, size).bound();
      }
      known.cut = {known.plan.chunks, slots,
                   known.plan.chunks.size() == 1 ? deal::in_one_queue : deal::by_engine};
    }

    overlapped how;
    std::optional<overlap_terms> terms;
    event_type begin, end, last_end;  ///< round what `timing` names
    double room_bytes;
    std::vector<std::unique_ptr<entry>> entries;
    entry* timing = nullptr;  ///< the job whose chunks are timed
    entry* last = nullptr;
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
