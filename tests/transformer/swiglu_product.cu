// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
/// @file
/// Products with SwiGLU against the float64 reference, under bounds from rounding alone: by their
/// kernel where it is compiled for the device, and by a product and SwiGLU.
#include "catch.hpp"
#include "device_array.hpp"
#include "nn/expect_within.hpp"
#include "small_sizes.hpp"

#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/nn/cublas_products.hpp>
#include <assay/transformer/swiglu_product.cuh>
#include <assay/verify.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::magnitudes;
using test::rounding;
using test::span_of;
using test::wide;

namespace {

using numbers = std::vector<double>;
using view = std::span<double>;

struct narrow_and_wide {
  std::size_t outside, inside;
};

/// cuBLAS with its workspace.
struct peer {
  static constexpr std::size_t bytes = 8 << 20;
  examples::device_array<std::byte> workspace{bytes};
  nn::cublas_products products{{workspace.get(), bytes}};
};

template <class T>
numbers on_host(T const* from, std::size_t count) {
  std::vector<T> found(count);
  check(cudaMemcpy(found.data(), from, count * sizeof(T), cudaMemcpyDefault));
  numbers made;
  for (auto const each : found) { made.push_back(static_cast<double>(each)); }
  return made;
}

/// Expects SwiGLU of what lies in `ab` on the device: eight roundings, as in its own test.
template <class T>
void expect_gated(setup& make, array_view<T> out, array_view<T> ab, nn::swiglu const& op) {
  make.expect_that(out, [ab, op](std::span<T const> got) -> std::optional<std::string> {
    auto const found = on_host(ab.data(), ab.size());
    numbers wanted(op.rows * op.width);
    op(view{const_cast<double*>(found.data()), op.extent()},
       view{const_cast<double*>(found.data()) + op.width, op.extent()}, view{wanted});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto const most = (8 * rounding + test::last_rounding<T>)*std::abs(wanted[i]) + 0x1p-126;
      auto const value = static_cast<double>(got[i]);
      if (std::abs(value - wanted[i]) <= most) { continue; }
      return "element " + std::to_string(i) + " is " + std::to_string(value) + ", and not " +
             std::to_string(wanted[i]);
    }
    return {};
  });
}

template <class T>
void require_gated(narrow_and_wide const& shape, assay::sizes const& rows) {
  peer by;
  auto const factory = [&](setup& make, std::size_t count) {
    nn::swiglu_product const op{count, shape.outside, shape.inside};
    auto& each = make.finite().align(256);
    auto const x = each.template random<T>(count * op.in);
    auto const weights = each.template random<T>(2 * op.width * op.in);
    auto const ab = each.template output<T>(2 * count * op.width);
    auto const out = each.template output<T>(count * op.width);
    numbers wanted(ab.size()), size(ab.size());
    op.both()(wide(x), wide(weights), view{wanted});
    op.both()(magnitudes(wide(x)), magnitudes(wide(weights)), view{size});
    test::expect_within(make, ab, wanted, size, (static_cast<double>(op.in) + 4) * rounding);
    expect_gated(make, out, ab, op.gate());
    return [=, &by](cudaStream_t on) {
      enqueue(::cuda::stream_ref{on}, op, span_of(x), span_of(weights), span_of(ab), span_of(out),
              by.products);
    };
  };
  auto const seen =
      verify(factory, {.seed = test::fresh_seed(), .only = rows, .concurrent = false});
  REQUIRE(seen);
}

/// The gradients of both inputs, and the errors that rounding allows: the gradient of the result is
/// a sum, rounded to its type, and the rest rounds as in SwiGLU's own test.
struct expected_gradients {
  numbers wanted, allowed;

  expected_gradients(nn::swiglu_product_gradient const& op, numbers const& dy,
                     numbers const& weights, numbers const& ab, double last)
      : wanted(ab.size()), allowed(ab.size()) {
    numbers d(op.rows * op.width), size(d.size());
    op(dy, weights, ab, view{d}, view{wanted});
    op.of_gated()(magnitudes(dy), magnitudes(weights), view{size});
    for (std::size_t i = 0; i < d.size(); ++i) {
      auto const at = i / op.width * 2 * op.width + i % op.width;
      auto const a = ab[at], b = ab[at + op.width], s = 1 / (1 + std::exp(-a));
      auto const sum = (static_cast<double>(op.out) + 4) * rounding * size[i];
      auto const off = sum + last * (std::abs(d[i]) + sum), most = std::abs(d[i]) + off;
      auto const outer = std::abs(b * s), by_a = std::abs(b * s * (1 + a * (1 - s)));
      allowed[at] = off * by_a + 8 * rounding * most * (by_a + outer * (1 + std::abs(a)));
      allowed[at + op.width] = (off + 8 * rounding * most) * std::abs(a * s);
    }
  }
};

template <class T>
void require_gradients(narrow_and_wide const& shape, assay::sizes const& rows) {
  peer by;
  auto const factory = [&](setup& make, std::size_t count) {
    nn::swiglu_product_gradient const op{count, shape.inside, shape.outside};
    auto& each = make.finite().align(256);
    auto const dy = each.template random<T>(count * op.out);
    auto const weights = each.template random<T>(op.width * op.out);
    auto const ab = each.template random<T>(2 * count * op.width, {-6, 6});
    auto const scratch = each.template scratch<T>(count * op.width);
    auto const gradient = each.template output<T>(2 * count * op.width);
    expected_gradients const right{op, wide(dy), wide(weights), wide(ab), test::last_rounding<T>};
    test::expect_within(make, gradient, right.wanted, right.allowed);
    return [=, &by](cudaStream_t on) {
      enqueue(::cuda::stream_ref{on}, op, span_of(dy), span_of(weights), span_of(ab),
              span_of(scratch), span_of(gradient), by.products);
    };
  };
  auto const seen =
      verify(factory, {.seed = test::fresh_seed(), .only = rows, .concurrent = false});
  REQUIRE(seen);
}

}  // namespace

TEST_CASE("products with SwiGLU of whole and of broken tiles", "[nn]") {
  for (auto const& each : {narrow_and_wide{64, 192}, narrow_and_wide{8, 8},
                           narrow_and_wide{72, 200}, narrow_and_wide{200, 392}}) {
    INFO(each.outside << " and " << each.inside << " columns");
    require_gated<bfloat16>(each, test::small_sizes({1, 128, 130, 300}, 130));
    require_gradients<bfloat16>(each, test::small_sizes({1, 128, 130, 300}, 130));
  }
}

TEST_CASE("products with SwiGLU that the kernel does not take", "[nn]") {
  // Rows that bulk copies cannot take, and another type.
  for (auto const& each : {narrow_and_wide{20, 32}, narrow_and_wide{32, 33}}) {
    require_gated<bfloat16>(each, test::small_sizes({17}, 17));
    require_gradients<bfloat16>(each, test::small_sizes({17}, 17));
  }
  require_gated<float>({24, 40}, test::small_sizes({17}, 17));
  require_gradients<float>({24, 40}, test::small_sizes({17}, 17));
}

TEST_CASE("the kernels of products with SwiGLU run on a device of 9.0", "[nn]") {
  auto const place = current_device();
  CHECK(nn::has_swiglu_product(place) == (place_traits<on::device>::capability(place) == 90));
}

namespace {

/// Multiples of `unit` from -3 to 3 of it: sums of their products are exact in any order.
examples::device_array<bfloat16> exact_factors(std::size_t count, float unit, std::uint64_t seed) {
  std::vector<bfloat16> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = bfloat16{unit * (static_cast<float>(random_bits(seed, i) % 7) - 3)};
  }
  examples::device_array<bfloat16> to{count};
  check(cudaMemcpy(to.get(), made.data(), count * sizeof(bfloat16), cudaMemcpyDefault));
  return to;
}

/// The bits of gate and up, of SwiGLU, and of the gradients of both inputs: by the kernel, or by
/// cuBLAS and SwiGLU's kernels, from sums that are exact.
std::vector<std::uint16_t> bits_of(std::size_t inside, std::uint64_t seed, bool by_kernel) {
  constexpr std::size_t rows = 1000, outside = 136;
  auto const n = rows * inside, count = inside * outside;
  nn::swiglu_product const op{rows, outside, inside};
  nn::swiglu_product_gradient const gradient{rows, inside, outside};
  auto const x = exact_factors(rows * outside, 1, seed);
  auto const weights = exact_factors(2 * count, 0x1p-4F, seed + 1);
  examples::device_array<bfloat16> const ab{2 * n}, gated{n}, d{2 * n}, scratch{n};
  for (auto const* each : {&ab, &d}) { check(cudaMemset(each->get(), 0xFF, 4 * n)); }
  check(cudaMemset(gated.get(), 0xFF, 2 * n));
  check(cudaDeviceSynchronize());
  std::span const to{ab.get(), 2 * n}, out{gated.get(), n}, back{d.get(), 2 * n};
  nn::in<bfloat16> const a{x.get(), rows * outside}, w{weights.get(), 2 * count};
  stream const where{current_device()};
  if (by_kernel) {
    nn::enqueue_kernel(where, op, a, w, to, out);
    nn::enqueue_kernel(where, gradient, a, w.first(count), to, back);
  } else {
    peer by;
    auto const last = op.gate().extent();
    std::span const sums{scratch.get(), n};
    by.products.enqueue(where, op.both(), a, w, to);
    enqueue(where, op.gate(), to.first(last), to.last(last), out);
    by.products.enqueue(where, gradient.of_gated(), a, w.first(count), sums);
    enqueue(where, gradient.gate(), to.first(last), to.last(last), sums, back.first(last),
            back.last(last));
    where.synchronize();  // before cuBLAS goes
  }
  where.synchronize();
  std::vector<std::uint16_t> found;
  for (auto const& all : {to, out, back}) {
    auto const first = found.size();
    found.resize(first + all.size());
    check(cudaMemcpy(found.data() + first, all.data(), all.size_bytes(), cudaMemcpyDefault));
  }
  return found;
}

}  // namespace

TEST_CASE("from equal sums the kernels make the bits of SwiGLU's own", "[nn]") {
  if (test::small() || !nn::has_swiglu_product(current_device())) { return; }
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  // On 132 multiprocessors, blocks have up to four tiles of the backward pass and seven of the
  // forward pass, so that each warpgroup multiplies for two and more.
  constexpr std::size_t inside = 8200;
  CHECK((bits_of(inside, seed, true) == bits_of(inside, seed, false)));
}
