// SPDX-License-Identifier: Apache-2.0
/// @file
/// How long a transfer takes that is cut into chunks, and which chunks are the best: arithmetic.
#pragma once

#include <assay/transfer/overlap_terms.hpp>

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

/// `elements` cut into at most `chunks` parts with these weights, at multiples of `granularity`;
/// parts without elements are left out.
inline std::vector<std::int64_t> cut(std::int64_t elements, std::int64_t granularity,
                                     std::vector<double> const& weights) {
  double all = 0;
  for (double const each : weights) { all += each; }
  auto const units = (elements + granularity - 1) / granularity;
  std::vector<std::int64_t> chunks;
  double sum = 0;
  std::int64_t from = 0;
  for (double const each : weights) {
    sum += each;
    auto const unit = std::llround(static_cast<double>(units) * std::min(1.0, sum / all));
    auto const to = std::min(elements, static_cast<std::int64_t>(unit) * granularity);
    if (to > from) { chunks.push_back(to - from); }
    from = std::max(from, to);
  }
  if (from < elements) { chunks.push_back(elements - from); }
  return chunks;
}

inline std::vector<std::int64_t> equal_chunks(std::int64_t elements, std::int64_t granularity,
                                              int chunks) {
  std::vector<double> const weights(static_cast<std::size_t>(std::max(1, chunks)), 1.0);
  return cut(elements, granularity, weights);
}

/// Chunks that grow and shrink: the first `up` are each `growth` times smaller than the next, the
/// last `down` each `shrink` times smaller than the one before, those between are equal.
struct ramp {
  int up = 0;
  double growth = 1;
  int down = 0;
  double shrink = 1;
  bool operator==(ramp const&) const = default;
};

inline std::vector<std::int64_t> ramped_chunks(std::int64_t elements, std::int64_t granularity,
                                               int chunks, ramp const& form) {
  std::vector<double> weights;
  for (int i = 0; i < chunks; ++i) {
    weights.push_back(std::min(std::pow(form.growth, std::min(0, i - form.up)),
                               std::pow(form.shrink, std::min(0, chunks - 1 - i - form.down))));
  }
  return cut(elements, granularity, weights);
}

namespace detail {

/// When a copy moved bytes.
struct busy {
  double begin = 0, end = 0;
};

/// When a copy that begins to move bytes at `begin` ends: at its duplex rate while the other engine
/// is busy, alone in between, of which the first `count` copies are known. `next` is the first of
/// them that is not over by `begin`.
inline double copy_end(double begin, double alone, double duplex, std::vector<busy> const& other,
                       std::size_t count, std::size_t& next) {
  if (!(alone > 0)) { return begin; }
  while (next < count && other[next].end <= begin) { ++next; }
  double now = begin;
  double left = 1;  // share of the copy
  for (auto at = next; at < count; ++at) {
    if (other[at].begin > now) {
      auto const gap = other[at].begin - now;
      if (left * alone <= gap) { return now + left * alone; }
      left -= gap / alone;
      now = other[at].begin;
    }
    auto const together = other[at].end - now;
    if (together <= 0) { continue; }
    if (left * duplex <= together) { return now + left * duplex; }
    left -= together / duplex;
    now = other[at].end;
  }
  return now + left * alone;
}

}  // namespace detail

/// Seconds that a list of chunks takes on two copy engines and one compute engine.
///
/// A slot has room for one chunk on the device. With engines that take chunks in order, chunk i is
/// copied in after chunk i - 1, once chunk i - slots is computed; it is computed after chunk i - 1,
/// once it is there and chunk i - slots has left; it is copied out once it is computed. Each copy's
/// rate depends on whether the other engine moves bytes, which is known only once its times are: so
/// the recurrence is repeated with the times of the last pass until they stay.
inline double chunked_seconds(overlap_terms const& of, overlap_size const& size,
                              std::vector<std::int64_t> const& chunks, int slots) {
  if (slots < 1) {
    throw std::invalid_argument("slots = " + std::to_string(slots) +
                                " is not possible: at least 1 is");
  }
  auto const count = chunks.size();
  if (count == 0 || size.elements == 0) { return of.start_seconds; }
  auto const all = stages_of(of, size);
  auto const overhead = overheads_of(of, size);
  auto const reuse = static_cast<std::size_t>(slots);
  // Before the first pass every copy to the device is taken for one without end.
  constexpr double always = std::numeric_limits<double>::infinity();
  std::vector<detail::busy> in(count, detail::busy{0, always});
  std::vector<detail::busy> out(count);
  std::vector<double> computed(count);
  double last = 0;
  for (std::size_t pass = 0; pass < 2 * count + 2; ++pass) {  // each settles an event or more
    std::size_t next_in = 0;
    std::size_t next_out = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const share = static_cast<double>(chunks[i]) / static_cast<double>(size.elements);
      auto begin = static_cast<double>(i + 1) * of.submit_seconds;
      if (i > 0) { begin = std::max(begin, in[i - 1].end); }
      if (i >= reuse) { begin = std::max(begin, computed[i - reuse]); }
      begin += overhead.to_device;
      // Only earlier chunks can leave while this one comes, and their times are known.
      auto const end = detail::copy_end(begin, share * all.to_device, share * all.to_device_duplex,
                                        out, i, next_out);
      in[i] = {begin, end};
      auto ready = in[i].end;
      if (i > 0) { ready = std::max(ready, computed[i - 1]); }
      if (i >= reuse) { ready = std::max(ready, out[i - reuse].end); }
      computed[i] = ready + overhead.kernel + share * all.kernel;
      auto const leave =
          (i > 0 ? std::max(computed[i], out[i - 1].end) : computed[i]) + overhead.to_host;
      out[i] = {leave, detail::copy_end(leave, share * all.to_host, share * all.to_host_duplex, in,
                                        count, next_in)};
    }
    if (std::abs(out.back().end - last) <= 1e-9 * last) { break; }
    last = out.back().end;
  }
  return of.start_seconds + out.back().end;
}

/// What the model chose.
struct overlap_plan {
  std::vector<std::int64_t> chunks;  ///< elements of each, in order
  int slots = 1;                     ///< chunks that are on the device at once
  double seconds = 0;                ///< predicted
  double bound_seconds = 0;          ///< what no plan can go below
  std::string why;                   ///< in words, with the terms that decided
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
inline std::string limit_in_words(overlap_terms const& of, overlap_stages const& all) {
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

inline std::string why(overlap_terms const& of, overlap_size const& size, overlap_plan const& plan,
                       ramp const& form) {
  auto const all = stages_of(of, size);
  auto const each = chunk_seconds(of, size);
  auto text = limit_in_words(of, all) +
              printed("; %zu chunks of up to %.3g MiB in %d slots", plan.chunks.size(),
                      static_cast<double>(plan.largest_chunk()) /
                          static_cast<double>(std::max<std::int64_t>(1, size.elements)) *
                          (size.bytes_in + size.bytes_out) / 0x1p20,
                      plan.slots);
  if (form.up > 0) { text += printed(", the first %d growing %.2gx", form.up, form.growth); }
  if (form.down > 0) { text += printed(", the last %d shrinking %.2gx", form.down, form.shrink); }
  text += printed(
      "; equal chunks would best be %.1f of them, by sqrt((S - B) / a) with S = %.4g "
      "ms, B = %.4g ms, a = %.3g us; predicted %.4g ms, %.1f %% of the bound's rate",
      best_chunk_count(all, each), all.serial() * 1e3, all.bound() * 1e3, each * 1e6,
      plan.seconds * 1e3, 100 * plan.bound_seconds / plan.seconds);
  return text;
}

/// The best plan among those that it was shown.
class plan_search {
 public:
  plan_search(overlap_terms const& terms, overlap_size const& size, overlap_limits const& limits)
      : terms_(terms), size_(size), limits_(limits), step_(step(size)) {}

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

  /// The fewest chunks of the best shape whose lack costs no 0.2 %.
  void drop_chunks() {
    best.seconds *= 1.002;
    auto const most = shape_count;
    for (int count = std::max(most / 2, shape.up + shape.down + 1); count <= most; ++count) {
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

  overlap_plan best{{}, 1, std::numeric_limits<double>::infinity(), 0, {}};
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

  overlap_terms const& terms_;
  overlap_size const& size_;
  overlap_limits const& limits_;
  std::int64_t step_;
};

}  // namespace detail

/// The chunks and slots with the shortest predicted time within the limits.
///
/// Tries equal chunks at some thirty counts, then ramps round the best of them; of slots the fewest
/// that cost nothing measurable. About a millisecond of host time: plans are made once a size.
/// Throws `std::invalid_argument` where no plan is within the limits.
inline overlap_plan pick(overlap_terms const& terms, overlap_size const& size,
                         overlap_limits const& limits = {}) {
  auto const all = stages_of(terms, size);
  if (size.elements <= 0) {
    return {{}, 1, terms.start_seconds, all.bound(), "there is nothing to transfer"};
  }
  detail::plan_search search{terms, size, limits};
  for (double count = 1; count <= limits.max_chunks; count = std::max(count + 1, count * 1.2)) {
    search.show(static_cast<int>(count), {});
  }
  if (search.best.chunks.empty()) {
    throw std::invalid_argument(detail::printed(
        "no cut of %lld elements into at most %d chunks, at multiples of %lld, fits %.6g bytes of "
        "device memory",
        static_cast<long long>(size.elements), limits.max_chunks,
        static_cast<long long>(size.granularity), limits.device_bytes));
  }
  auto const [growth, shrink] = detail::ramp_ratios(all);
  int const middle = search.shape_count;
  for (double const scale : {0.5, 0.7, 0.85, 1.0, 1.2, 1.5}) {
    for (int up = 0; up <= (growth > 1.02 ? 4 : 0); ++up) {
      for (int down = 0; down <= (shrink > 1.02 ? 4 : 0); ++down) {
        auto const count = std::max(1, static_cast<int>(std::lround(middle * scale)));
        search.show(count + up + down, {up, growth, down, shrink});
      }
    }
  }
  // The model does not know that kernels on small chunks leave some of the device idle.
  if (all.kernel >= all.link()) { search.drop_chunks(); }
  search.drop_slots();
  search.best.bound_seconds = all.bound();
  search.best.why = detail::why(terms, size, search.best, search.shape);
  return search.best;
}

/// The same, as an element-wise job states it: all bytes of one input and one output.
inline overlap_plan pick(overlap_terms const& of, double bytes_in, double bytes_out,
                         std::int64_t elements, std::int64_t granularity,
                         overlap_limits const& limits = {}) {
  return pick(of, overlap_size{bytes_in, bytes_out, elements, granularity}, limits);
}

}  // namespace assay::transfer
