// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: the definitions of `setup`.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/declaration_checks.hpp>
#include <assay/arrays/expectation.hpp>
#include <assay/arrays/expected_elements.hpp>
#include <assay/arrays/reference_elements.hpp>
#include <assay/arrays/right_values_memo.hpp>
#include <assay/arrays/row_layout.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/arrays/setup_state.hpp>
#include <assay/arrays/special_elements.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {

ASSAY_INLINE setup::setup(std::shared_ptr<arrays::array_store> store, std::uint64_t seed)
    : state_(new state{std::move(store), seed}) {}
ASSAY_INLINE setup::setup(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}
ASSAY_INLINE setup::setup(setup&&) noexcept = default;
ASSAY_INLINE setup& setup::operator=(setup&&) noexcept = default;
ASSAY_INLINE setup::~setup() = default;

ASSAY_INLINE setup setup::for_another_lane() const {
  auto other = std::make_unique<state>(state{state_->store, state_->seed});
  other->told = state_->told;
  for (auto const& each : state_->arrays) {
    other->shared.push_back(each.is_input ? each.data : nullptr);
  }
  return setup{std::move(other)};
}
ASSAY_INLINE setup& setup::allow_empty() {
  state_->told.may_be_empty = true;
  return *this;
}
ASSAY_INLINE setup& setup::with(special_values values, std::optional<std::size_t> only) {
  state_->told.special = values;
  state_->told.special_array = only;
  return *this;
}
ASSAY_INLINE setup& setup::finite() {
  state_->told.finite = true;
  return *this;
}
ASSAY_INLINE bool setup::is_finite() const noexcept { return state_->told.finite; }
ASSAY_INLINE setup& setup::unordered() {
  state_->told.unordered = true;
  return *this;
}
ASSAY_INLINE bool setup::is_unordered() const noexcept { return state_->told.unordered; }
ASSAY_INLINE setup& setup::align(std::size_t bytes) {
  constexpr auto most = arrays::array_store::spread;
  if (!std::has_single_bit(bytes) || bytes > most) {
    throw std::invalid_argument("setup.align(" + std::to_string(bytes) +
                                "): a power of two up to " + std::to_string(most) + " is needed");
  }
  state_->told.alignment = bytes;
  return *this;
}
ASSAY_INLINE setup& setup::named(std::string name) {
  for (auto const& each : state_->arrays) {
    if (each.name != name) { continue; }
    throw std::invalid_argument("setup.named: another array has the name " + name + " already");
  }
  state_->name = std::move(name);
  return *this;
}
ASSAY_INLINE shared_right_values::shared_right_values()
    : memo_(std::make_shared<arrays::detail::right_values_memo>()) {}
ASSAY_INLINE setup& setup::share(shared_right_values const& with) {
  state_->shared_values = {with.memo_};
  return *this;
}
ASSAY_INLINE void setup::moves(double bytes) {
  detail::require_amount("moves", bytes);
  state_->bytes = bytes;
}
ASSAY_INLINE void setup::does(double flops) {
  detail::require_amount("does", flops);
  state_->flops = flops;
}
ASSAY_INLINE setup& setup::choose_scalars(std::uint64_t number) {
  state_->choice = number;
  return *this;
}
ASSAY_INLINE std::uint64_t setup::scalar_choices() const noexcept { return state_->choices; }
ASSAY_INLINE std::size_t setup::choose(std::size_t count) {
  if (count == 0) { throw std::invalid_argument("setup.scalar: a scalar needs a value"); }
  auto const index = state_->choice % count;
  state_->choice /= count;
  state_->choices *= count;
  return index;
}
ASSAY_INLINE void setup::note_scalar(std::string name, double value) {
  state_->declared = random_bits(state_->declared, arrays::to_bits(value));
  state_->note(std::move(name) + " = " + arrays::detail::in_text(value, 6));
}
ASSAY_INLINE setup& setup::choose_rows(std::size_t layout) {
  state_->told.layout = layout;
  return *this;
}
ASSAY_INLINE std::size_t setup::lay_out(matrix& rows, std::size_t element_bytes) {
  auto const& told = state_->told;
  if (auto& chosen = rows.leading_dimension; chosen == 0) {
    auto const step = told.alignment / std::gcd(told.alignment, element_bytes);
    auto const layout =
        told.layout == 0 ? 0 : (told.layout + state_->laid_out++) % arrays::row_layouts;
    chosen = arrays::detail::leading_dimension(rows, step, layout);
    if (layout > 0) {
      state_->note("leading dimension of " + state_->next_name() + " = " + std::to_string(chosen));
    }
  }
  arrays::detail::require_leading_dimension(rows);
  state_->rows = rows;
  return rows.size();
}
ASSAY_INLINE std::string const& setup::scalars() const noexcept { return state_->scalars; }
ASSAY_INLINE double setup::bytes() const noexcept { return state_->bytes; }
ASSAY_INLINE double setup::flops() const noexcept { return state_->flops; }
ASSAY_INLINE std::uint64_t setup::draw_place() noexcept { return state_->store->draw_place(); }

ASSAY_INLINE setup::declared_memory setup::declare_random(char const* call, std::size_t n,
                                                          arrays::any_range const& usual,
                                                          bool written) {
  detail::require_range(usual);
  auto range = usual;
  auto const element_bytes = arrays::with_type(range.type, [](auto value) { return sizeof value; });
  auto const seed = random_bits(state_->seed, state_->arrays.size());
  auto& told = state_->told;
  bool const is_infinite =
      told.special == special_values::nan || told.special == special_values::infinities;
  bool const is_special =
      told.special != special_values::none &&
      told.special_array.value_or(state_->arrays.size()) == state_->arrays.size() &&
      !(is_infinite && told.finite);
  if (is_special && !range.is_multiples) {
    told.has_nan = told.has_nan || is_infinite;
    range.special = detail::special_rule_of(told.special, n, range, seed,
                                            state_->rows.size() == 0 ? n : state_->rows.columns);
  }
  arrays::special_rule const* special = nullptr;
  if (range.special.any) {
    auto const kept = std::make_shared<arrays::special_rule const>(range.special);
    state_->kept.push_back(kept);
    special = kept.get();
  }
  state_->declared = arrays::detail::hash_of(range, n, seed, state_->declared);
  auto& made = written ? state_->add(call, n, element_bytes)
                       : state_->add_input(call, n, element_bytes, nullptr);
  if (written || state_->fresh) { state_->store->fill_random(made.data, n, range, seed); }
  if (written) { state_->keep_start(); }
  return {made.data, special, seed, special != nullptr};
}

ASSAY_INLINE setup::declared_memory setup::declare_copy(char const* call,
                                                        detail::kept_elements<std::byte> data,
                                                        std::size_t element_bytes, bool written,
                                                        matrix* rows) {
  auto elements = data.elements;
  if (data.owner) { state_->kept.push_back(std::move(data.owner)); }
  state_->require_apart(call, elements, written);
  if (rows != nullptr) {
    auto const size = lay_out(*rows, element_bytes) * element_bytes;
    detail::require_rows(call, elements.size() / element_bytes, *rows);
    if (elements.size() != size) {
      auto const made = std::make_shared<std::vector<std::byte> const>(
          arrays::detail::spread_rows(elements, *rows, element_bytes));
      state_->kept.push_back(made);
      elements = *made;
    }
  }
  auto const n = elements.size() / element_bytes;
  auto& made = written ? state_->add(call, n, element_bytes)
                       : state_->add_input(call, n, element_bytes, elements.data());
  made.callers = elements;
  made.writes = written;
  if ((written || state_->fresh) && !elements.empty()) {
    state_->store->copy_in(made.data, elements.data(), elements.size());
  }
  if (written) { state_->keep_start(); }
  return {made.data, elements.data(), 0};
}

ASSAY_INLINE setup::declared_memory setup::declare_output(std::size_t n, std::size_t element_bytes,
                                                          void* callers, unsigned char poison) {
  std::span<std::byte const> const memory{static_cast<std::byte const*>(callers),
                                          callers == nullptr ? 0 : n * element_bytes};
  if (callers != nullptr) { state_->require_apart("output_in", memory, true); }
  auto& made = state_->add("output", n, element_bytes,
                           state_->store->takes_callers_memory() ? callers : nullptr);
  made.poison = poison;
  made.callers = memory;
  made.writes = callers != nullptr;
  state_->store->fill(made.data, poison, made.bytes);
  return {made.data};
}
ASSAY_INLINE setup::declared_memory setup::declare_zeros(std::size_t n, std::size_t element_bytes) {
  auto& made = state_->add("zeros", n, element_bytes);
  made.must_stay_zeros = true;
  state_->store->fill(made.data, 0, made.bytes);
  return {made.data};
}
ASSAY_INLINE setup::declared_memory setup::declare_scratch(std::size_t n,
                                                           std::size_t element_bytes) {
  return {state_->add("scratch", n, element_bytes).data};
}

ASSAY_INLINE void setup::take_sample(sampled of) {
  if (of.elements == 0) {
    throw std::invalid_argument(
        "setup.expect: a sample of 0 elements checks nothing; at least 1 "
        "is needed, as in assay::sampled{4096}");
  }
  state_->sample = of.elements;
}
ASSAY_INLINE void setup::expect_values(void* array, std::size_t size,
                                       arrays::detail::right_values right, tolerance allowed,
                                       bool has_rule) {
  allowed = detail::required(allowed, state_->told.has_nan);
  auto& sharing = state_->shared_values;
  if (sharing.memo) { sharing.inputs = state_->inputs(); }
  arrays::detail::sample_of const sample{std::exchange(state_->sample, 0),
                                         random_bits(state_->seed, state_->arrays.size())};
  state_->written(array).expected = std::make_unique<arrays::detail::expected_elements>(
      size, std::move(right), allowed, has_rule, sharing, sample);
  ++sharing.expectation;
}
ASSAY_INLINE void setup::expect_results(void* array, std::size_t size,
                                        arrays::detail::reference_run reference,
                                        arrays::detail::right_values by_host, tolerance allowed) {
  allowed = detail::required(allowed, state_->told.has_nan);
  auto& of = state_->written(array);
  of.expected = std::make_unique<arrays::detail::reference_elements>(
      *state_->store, state_->store->allocate(of.bytes), size, std::move(reference),
      std::move(by_host), allowed);
}
ASSAY_INLINE void setup::expect_judged(void* array, std::size_t size, std::size_t element_bytes,
                                       arrays::detail::array_judge judge) {
  state_->written(array).expected =
      std::make_unique<arrays::detail::judged_elements>(size, element_bytes, std::move(judge));
}

ASSAY_INLINE void setup::poison() {
  for (auto const& each : state_->arrays) {
    if (each.poison) { state_->store->fill(each.data, *each.poison, each.bytes); }
  }
}
ASSAY_INLINE bool setup::has_state() const noexcept {
  return std::any_of(state_->arrays.begin(), state_->arrays.end(),
                     [](auto const& each) { return each.start != nullptr; });
}
ASSAY_INLINE void setup::restore() {
  for (auto const& each : state_->arrays) {
    if (each.start != nullptr) { state_->store->copy(each.data, each.start, each.bytes); }
  }
}
ASSAY_INLINE bool setup::has_expectations() const noexcept {
  return std::any_of(state_->arrays.begin(), state_->arrays.end(),
                     [](auto const& each) { return each.expected != nullptr; });
}
ASSAY_INLINE std::optional<std::string> setup::verify(double slack,
                                                      std::optional<std::uint64_t> some) {
  auto const& all = state_->arrays;
  state_->worst = {};
  std::size_t most = 0;
  for (auto const& each : all) {
    if (each.is_input || each.start != nullptr) { most = std::max(most, each.elements); }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].expected == nullptr) { continue; }
    if (auto wrong =
            all[i].expected->mismatch({*state_->store, all[i].data, all[i].poison, i, all[i].name,
                                       slack, most, state_->worst, all[i].rows, some})) {
      return wrong;
    }
  }
  return std::nullopt;
}
ASSAY_INLINE worst_error setup::worst() const noexcept { return state_->worst; }
ASSAY_INLINE std::vector<declared_array> setup::declared() const {
  using enum declared_array::role;
  std::vector<declared_array> all;
  for (auto const& each : state_->arrays) {
    auto const what = each.is_input          ? input
                      : each.poison          ? output
                      : each.start           ? inout
                      : each.must_stay_zeros ? zeros
                                             : scratch;
    all.push_back({each.data, each.bytes, each.elements, what, each.expected != nullptr, each.rows,
                   each.expected ? each.expected->sample() : 0, each.poison, each.start,
                   each.name});
  }
  return all;
}

}  // namespace assay
