// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which chunks the model takes for the best, and which others it would have measured: arithmetic.
/// Templates on the terms, as the model is, so that who does not plan does not compile it.
#pragma once

#include <assay/transfer/overlap_model.hpp>
#include <assay/transfer/schedule.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::transfer {

/// What the model chose.
struct overlap_plan {
  std::vector<std::int64_t> chunks;  ///< elements of each, in order
  int slots = 1;                     ///< chunks that are on the device at once
  deal how = deal::by_engine;
  double seconds = 0;        ///< predicted
  double bound_seconds = 0;  ///< what no plan can go below
  std::string why;           ///< in words, with the terms that decided
  bool operator==(overlap_plan const&) const = default;

  std::int64_t largest_chunk() const {
    return chunks.empty() ? 0 : *std::max_element(chunks.begin(), chunks.end());
  }
};

/// What a plan may use.
struct overlap_limits {
  int max_chunks = 256;  ///< more would be chunks whose overhead is most of them, or a long queue
  int max_slots = 8;     ///< more have shown no gain
  /// Not fewer where they fit, though the model sees no loss from 3 on: with a chunk on each engine
  /// each waits for the others' events; with another each it runs ahead, 0.1 to 0.5 % faster.
  int min_slots = 6;
  double device_bytes = std::numeric_limits<double>::infinity();  ///< for all slots together
};

namespace detail {

inline std::string printed(char const* form, auto... values) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

/// How much smaller than its neighbour a chunk may be without starving the stage that limits: while
/// that stage works on one chunk, the others together bring, or take away, the next.
inline std::pair<double, double> ramp_ratios(overlap_stages const& of) {
  constexpr double steepest = 4;  // where the other stages are almost free
  auto const ratio = [](double limiting, double other) {
    return limiting >= steepest * other ? steepest : std::max(1.0, limiting / other);
  };
  auto const before = std::max(of.to_device_duplex, of.kernel);
  auto const after = std::max(of.to_host_duplex, of.kernel);
  if (of.kernel >= of.link()) {
    return {ratio(of.kernel, of.to_device_duplex), ratio(of.kernel, of.to_host_duplex)};
  }
  return {ratio(of.to_host_duplex, before), ratio(of.to_device_duplex, after)};
}

/// What a plan's time goes to, in words.
template <class Terms>
std::string limit_in_words(Terms const& of, overlap_stages const& all) {
  if (all.kernel >= all.link()) { return printed("the kernel limits (%.4g ms)", all.kernel * 1e3); }
  bool const in = all.to_device_duplex >= all.to_host_duplex;
  bool const both = all.to_device > 0 && all.to_host > 0;
  return printed(
      "%s limits (%.4g ms, %.3g GB/s %s)", in ? "the link to the device" : "the link to the host",
      all.link() * 1e3,
      1e-9 * (in     ? both ? of.to_device_duplex_bytes_per_second : of.to_device_bytes_per_second
              : both ? of.to_host_duplex_bytes_per_second
                     : of.to_host_bytes_per_second),
      both ? "with both directions busy" : "alone");
}

template <class Terms>
std::string why(Terms const& of, overlap_size const& size, overlap_plan const& plan,
                ramp const& form) {
  auto const all = stages_of(of, size);
  auto const each = chunk_seconds(of, size);
  auto text = limit_in_words(of, all) +
              printed("; %zu chunks of up to %.3g MiB in %d slots", plan.chunks.size(),
                      static_cast<double>(plan.largest_chunk()) /
                          static_cast<double>(std::max<std::int64_t>(1, size.elements)) *
                          (size.bytes_in + size.bytes_out) / 0x1p20,
                      plan.slots);
  if (form.up > 0) { text += printed(", the first %d growing %.3gx", form.up, form.growth); }
  if (form.down > 0) { text += printed(", the last %d shrinking %.3gx", form.down, form.shrink); }
  text += printed(
      "; equal chunks would best be %.1f of them, by sqrt((S - B) / a) with S = %.4g "
      "ms, B = %.4g ms, a = %.3g us",
      best_chunk_count(all, each), all.serial() * 1e3, all.bound() * 1e3, each * 1e6);
  if (of.copy_overhead_error_seconds > 0 && all.link() > all.kernel) {
    auto const copies = each / of.copy_overhead_seconds;
    text += printed(" +- %.2g", copies * of.copy_overhead_error_seconds * 1e6);
  }
  return text + printed("; predicted %.4g ms, %.1f %% of the bound's rate", plan.seconds * 1e3,
                        100 * plan.bound_seconds / plan.seconds);
}

/// The best plan among those that it was shown.
template <class Terms>
class plan_search {
 public:
  plan_search(Terms const& terms, overlap_size const& size, overlap_limits const& limits)
      : terms_(terms), size_(size), limits_(limits), step_(step(size)) {
    best.seconds = std::numeric_limits<double>::infinity();
  }

  void show(int count, ramp const& form) {
    if (count > limits_.max_chunks) { return; }
    auto chunks = ramped_chunks(size_.elements, step_, count, form);
    auto const slot_bytes = static_cast<double>(*std::max_element(chunks.begin(), chunks.end())) /
                            static_cast<double>(size_.elements) *
                            (size_.bytes_in + size_.bytes_out);
    auto const room = std::min<double>(limits_.max_slots, limits_.device_bytes / slot_bytes);
    auto const slots = static_cast<int>(room);
    if (slots < 1) { return; }
    auto const seconds = chunked_seconds(terms_, size_, chunks, slots);
    if (seconds >= best.seconds) { return; }
    best.chunks = std::move(chunks);
    best.slots = slots;
    best.seconds = seconds;
    shape = form;
    shape_count = count;
  }

  /// The fewest chunks of the best shape whose lack costs no 0.5 %, but so many between the ramps
  /// that the slots need no more room than the arrays.
  void drop_chunks() {
    auto const most = shape_count;
    auto const fewest = shape.up + shape.down + limits_.min_slots;
    if (fewest >= most) { return; }
    best.seconds *= 1.005;
    shape_count = 0;
    for (int count = fewest; count <= most; ++count) {
      show(count, shape);
      if (shape_count == count) { return; }
    }
  }

  /// The fewest slots whose lack costs no 0.2 %, but `min_slots` where there are so many.
  void drop_slots() {
    for (int slots = limits_.min_slots; slots < best.slots; ++slots) {
      auto const seconds = chunked_seconds(terms_, size_, best.chunks, slots);
      if (seconds > 1.002 * best.seconds) { continue; }
      best.slots = slots;
      best.seconds = seconds;
    }
  }

  overlap_plan best;
  ramp shape;
  int shape_count = 1;

 private:
  /// Large transfers are cut at multiples of 4096 elements: copies begin at pages if arrays do.
  static std::int64_t step(overlap_size const& size) {
    constexpr std::int64_t page = 4096;
    if (size.elements < 256 * page || size.granularity > page) { return size.granularity; }
    return std::lcm(size.granularity, page) <= size.elements / 256
               ? std::lcm(size.granularity, page)
               : size.granularity;
  }

  Terms const& terms_;
  overlap_size const& size_;
  overlap_limits const& limits_;
  std::int64_t step_;
};

/// Shows equal chunks at some thirty counts.
template <class Terms>
void show_equal(plan_search<Terms>& search, overlap_limits const& limits) {
  for (double count = 1; count <= limits.max_chunks; count = std::max(count + 1, count * 1.2)) {
    search.show(static_cast<int>(count), {});
  }
}

/// Shows equal chunks, then chunks that grow or shrink round the best count of those.
///
/// Where the other stages are much faster than the one that limits, a steep ramp of a few chunks
/// makes fill and drain short. Where they are a little faster, as one direction of a link often is
/// than the other, chunks that grow all the way (or shrink) by that little do, by the recurrence:
/// the first of fifty that grow by 5 % is a fifth as large as the mean, and the limiting engine
/// never waits.
template <class Terms>
plan_search<Terms> searched(Terms const& terms, overlap_size const& size,
                            overlap_limits const& limits) {
  plan_search<Terms> search{terms, size, limits};
  show_equal(search, limits);
  if (search.best.chunks.empty()) {
    throw std::invalid_argument(printed(
        "no cut of %lld elements into at most %d chunks, at multiples of %lld, fits %.6g bytes of "
        "device memory",
        static_cast<long long>(size.elements), limits.max_chunks,
        static_cast<long long>(size.granularity), limits.device_bytes));
  }
  auto const all = stages_of(terms, size);
  auto const [growth, shrink] = ramp_ratios(all);
  int const middle = search.shape_count;
  for (double const scale : {0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.5}) {
    auto const count = std::max(1, static_cast<int>(std::lround(middle * scale)));
    for (int up = 0; up <= (growth > 1.02 ? 4 : 0); ++up) {
      for (int down = 0; down <= (shrink > 1.02 ? 4 : 0); ++down) {
        search.show(count + up + down, {up, growth, down, shrink});
      }
    }
    constexpr double most = 1.3;  // beyond it few chunks would be most of the job
    for (double const part : {0.5, 1.0}) {
      auto const steps = static_cast<int>(part * (count - 1));
      if (growth > 1.005 && growth < most) { search.show(count, {steps, growth, 0, 1}); }
      if (shrink > 1.005 && shrink < most) { search.show(count, {0, 1, steps, shrink}); }
    }
  }
  // The model does not know that kernels on small chunks leave some of the device idle.
  if (all.kernel >= all.link()) { search.drop_chunks(); }
  search.drop_slots();
  return search;
}

/// What is picked where nothing is measured: equal chunks at the count of the closed form where the
/// link limits and its stages are alike, or at another that the recurrence has for a hundredth
/// faster, as of few chunks one more is a lot; else the best of all shapes. The gain that the
/// recurrence sees in chunks that grow by a few percent came true on one H200's host and not on
/// another's.
template <class Terms>
plan_search<Terms> picked(Terms const& terms, overlap_size const& size,
                          overlap_limits const& limits) {
  auto const all = stages_of(terms, size);
  auto const [growth, shrink] = ramp_ratios(all);
  constexpr double alike = 1.2;  // steeper ramps came true on both
  if (all.kernel < all.link() && growth < alike && shrink < alike) {
    plan_search<Terms> closed{terms, size, limits};
    closed.show(static_cast<int>(std::lround(best_chunk_count(all, chunk_seconds(terms, size)))),
                {});
    plan_search<Terms> equal{terms, size, limits};
    show_equal(equal, limits);
    auto& search = equal.best.seconds < 0.99 * closed.best.seconds ? equal : closed;
    search.drop_slots();
    if (!search.best.chunks.empty()) { return std::move(search); }
  }
  return searched(terms, size, limits);
}

template <class Terms>
overlap_plan finished(plan_search<Terms>&& search, Terms const& terms, overlap_size const& size) {
  auto made = std::move(search.best);
  made.bound_seconds = stages_of(terms, size).bound();
  made.why = why(terms, size, made, search.shape);
  return made;
}

}  // namespace detail

/// The chunks and slots with the shortest predicted time within the limits. A millisecond or two of
/// host time: plans are made once a size. Throws `std::invalid_argument` where no plan is within
/// the limits.
template <class Terms>
overlap_plan pick(Terms const& terms, overlap_size const& size, overlap_limits const& limits = {}) {
  if (size.elements <= 0) {
    return {{},
            1,
            deal::in_one_queue,
            terms.start_seconds,
            stages_of(terms, size).bound(),
            "there is nothing to transfer"};
  }
  return detail::finished(detail::picked(terms, size, limits), terms, size);
}

/// A handful of plans round the optimum, for those who measure which is the fastest here: the pick
/// first, then its shape with fewer and with more chunks, the best of all shapes by the recurrence,
/// and the pick led by the caller's stream.
///
/// Time is flat round the best count: where the model misses it by a factor of two, one of these is
/// within 1 % of the fastest even at sizes that reach 84 % of the bound, by T(N).
template <class Terms>
std::vector<overlap_plan> short_list(Terms const& terms, overlap_size const& size,
                                     overlap_limits const& limits = {}) {
  std::vector<overlap_plan> all{pick(terms, size, limits)};
  if (size.elements <= 0) { return all; }
  auto const search = detail::picked(terms, size, limits);
  auto const add = [&](overlap_plan&& made) {
    auto const same = [&](overlap_plan const& each) {
      return each.chunks == made.chunks && each.slots == made.slots && each.how == made.how;
    };
    if (!made.chunks.empty() && std::none_of(all.begin(), all.end(), same)) {
      all.push_back(std::move(made));
    }
  };
  for (double const scale : {0.7, 1.4}) {
    detail::plan_search<Terms> one{terms, size, limits};
    auto form = search.shape;
    auto const count = std::max(1, static_cast<int>(std::lround(search.shape_count * scale)));
    // What went all the way still does.
    if (form.up >= search.shape_count - 1) { form.up = count - 1; }
    if (form.down >= search.shape_count - 1) { form.down = count - 1; }
    one.show(std::max(count, form.up + form.down + 1), form);
    one.drop_slots();
    add(detail::finished(std::move(one), terms, size));
  }
  add(detail::finished(detail::searched(terms, size, limits), terms, size));
  auto led = all.front();
  led.how = deal::led_by_caller;
  led.why += "; the first chunk in the caller's own stream";
  if (led.chunks.size() > 1) { add(std::move(led)); }
  return all;
}

/// The same, as an element-wise job states it: all bytes of one input and one output.
template <class Terms>
overlap_plan pick(Terms const& of, double bytes_in, double bytes_out, std::int64_t elements,
                  std::int64_t granularity, overlap_limits const& limits = {}) {
  return pick(of, overlap_size{bytes_in, bytes_out, elements, granularity}, limits);
}

}  // namespace assay::transfer
