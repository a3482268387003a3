// SPDX-License-Identifier: Apache-2.0
/// @file
/// All-reduce, residual and RMSNorm in one launch, beside float64.

#include "comm/world.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <vector>

using namespace assay;

namespace {

/// Rows on all ranks, and what should come of them.
template <class T>
class norm_world {
 public:
  norm_world(int ranks, std::size_t tokens, std::size_t hidden, bool in_place, std::uint64_t seed,
             std::size_t late)
      : engine(test::peers_of(ranks), options(tokens * hidden * sizeof(T))),
        tokens_(tokens),
        hidden_(hidden),
        in_place_(in_place),
        late_(late),
        blocks_(test::peers_of(ranks), 5 * stride()) {
    for (int rank = 0; rank < ranks; ++rank) { streams_.emplace_back(engine.device(rank)); }
    engine.template prepare<T>();
    fill(seed);
  }

  std::string run() {
    if (test::small()) {
      engine.enqueue_rms_norm_together(streams_[0], buffers(), tokens_, hidden_, epsilon);
    } else {
      for (int rank = 0; rank < engine.ranks(); ++rank) {
        engine.enqueue_rms_norm(rank, streams_[static_cast<std::size_t>(rank)], buffers(), tokens_,
                                hidden_, epsilon);
      }
    }
    for (int rank = 0; rank < engine.ranks(); ++rank) {
      engine.synchronize(rank, streams_[static_cast<std::size_t>(rank)]);
    }
    for (int rank = 0; rank < engine.ranks(); ++rank) {
      if (auto const text = wrong(rank); !text.empty()) {
        return "rank " + std::to_string(rank) + ", " + text;
      }
    }
    return {};
  }

  comm::all_reduce engine;

 private:
  static constexpr float epsilon = 1e-5F;
  static comm::all_reduce_options options(std::size_t bytes) {
    auto made = test::checked_options();
    // A row of 32 KiB in each of 132 blocks takes 4.1 MiB.
    auto const least = std::size_t{test::small() ? 64U : 16384U} << 10U;
    made.scratch_bytes = std::max(least, 4 * bytes);
    return made;
  }

  std::size_t stride() const { return (tokens_ * hidden_ + 64) * sizeof(T) / 256 * 256 + 256; }
  T* at(int rank, std::size_t which) const {
    return reinterpret_cast<T*>(blocks_.at(rank) + which * stride()) + late_;
  }
  comm::norm_buffers<T> buffers() const {
    comm::norm_buffers<T> made;
    for (int rank = 0; rank < engine.ranks(); ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      made.in[r] = at(rank, 0);
      made.residual[r] = at(rank, 1);
      made.gamma[r] = at(rank, 2);
      made.out[r] = in_place_ ? at(rank, 0) : at(rank, 3);
      if (!in_place_) { made.residual_out[r] = at(rank, 4); }
    }
    return made;
  }

  void fill(std::uint64_t seed) {
    auto const count = tokens_ * hidden_;
    sums_.assign(count, 0);
    magnitudes_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      residual_.push_back(static_cast<T>(test::random_value(seed + 1, i)));
    }
    for (std::size_t i = 0; i < hidden_; ++i) {
      gamma_.push_back(static_cast<T>(test::random_value(seed + 2, i)));
    }
    for (int rank = 0; rank < engine.ranks(); ++rank) {
      std::vector<T> values;
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(
            static_cast<T>(test::random_value(seed + 3 + static_cast<unsigned>(rank), i)));
        sums_[i] += static_cast<double>(static_cast<float>(values[i]));
        magnitudes_[i] += std::abs(static_cast<double>(static_cast<float>(values[i])));
      }
      device_guard const guard{engine.device(rank)};
      check(cudaMemcpy(at(rank, 0), values.data(), count * sizeof(T), cudaMemcpyDefault));
      check(cudaMemcpy(at(rank, 1), residual_.data(), count * sizeof(T), cudaMemcpyDefault));
      check(cudaMemcpy(at(rank, 2), gamma_.data(), hidden_ * sizeof(T), cudaMemcpyDefault));
      check(cudaDeviceSynchronize());
    }
  }

  std::string wrong(int rank) const {
    auto const count = tokens_ * hidden_;
    std::vector<T> out(count), residual(count);
    check(
        cudaMemcpy(out.data(), at(rank, in_place_ ? 0 : 3), count * sizeof(T), cudaMemcpyDefault));
    check(cudaMemcpy(residual.data(), at(rank, in_place_ ? 1 : 4), count * sizeof(T),
                     cudaMemcpyDefault));
    auto const unit = test::unit_roundoff<T>();
    for (std::size_t row = 0; row < tokens_; ++row) {
      double squares = 0;
      for (std::size_t i = row * hidden_; i < (row + 1) * hidden_; ++i) {
        auto const before = static_cast<double>(static_cast<float>(residual_[i]));
        auto const expected = sums_[i] + before;
        auto const found = static_cast<double>(static_cast<float>(residual[i]));
        double const float_error =
            (engine.ranks() + 1) * 0x1p-24 * (magnitudes_[i] + std::abs(before));
        double const bound = float_error + unit * (std::abs(expected) + float_error) + 0x1p-25;
        if (!(std::abs(found - expected) <= bound)) { return text("residual", i, found, expected); }
        squares += found * found;  // the norm is of what was rounded
      }
      // Sums of squares are off by 2^-24 for each addition, at most `hidden` one after the other,
      // and the square root halves that; then some ten operations in float, and one rounding.
      double const relative = (static_cast<double>(hidden_) / 2 + 12) * 0x1p-24 + unit;
      double const scale = 1 / std::sqrt(squares / static_cast<double>(hidden_) + epsilon);
      for (std::size_t i = row * hidden_; i < (row + 1) * hidden_; ++i) {
        auto const normed = static_cast<double>(static_cast<float>(residual[i])) * scale *
                            static_cast<double>(static_cast<float>(gamma_[i % hidden_]));
        auto const found = static_cast<double>(static_cast<float>(out[i]));
        if (!(std::abs(found - normed) <= relative * 1.001 * std::abs(normed) + 0x1p-25)) {
          return text("output", i, found, normed);
        }
      }
    }
    return {};
  }
  static std::string text(char const* what, std::size_t i, double found, double expected) {
    return std::string{what} + " " + std::to_string(i) + " is " + std::to_string(found) +
           " and should be " + std::to_string(expected);
  }

  std::size_t tokens_, hidden_;
  bool in_place_;
  std::size_t late_;
  test::rank_blocks blocks_;
  std::vector<stream> streams_;
  std::vector<double> sums_, magnitudes_;
  std::vector<T> residual_, gamma_;
};

template <class T>
void require_norms() {
  struct shape {
    std::size_t tokens, hidden;
  };
  std::vector<shape> const shapes =
      test::small() ? std::vector<shape>{{1, 64}, {3, 77}}
                    : std::vector<shape>{{1, 4096}, {7, 8192}, {200, 1024}, {5, 1001}, {300, 72}};
  auto const seed = test::fresh_seed();
  for (int const ranks : {2, 4}) {
    for (auto const& each : shapes) {
      for (bool const in_place : {false, true}) {
        for (std::size_t const late : {0U, 1U}) {
          INFO(ranks << " ranks, " << each.tokens << " tokens of " << each.hidden
                     << (in_place ? ", in place" : "") << ", " << late << " late, seed " << seed);
          norm_world<T> all{ranks, each.tokens, each.hidden, in_place, seed, late};
          REQUIRE(all.run() == "");
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("rows of floats are reduced and normalised", "[comm]") { require_norms<float>(); }
TEST_CASE("rows of halves are reduced and normalised", "[comm]") { require_norms<__half>(); }
TEST_CASE("rows of bfloat16s are reduced and normalised", "[comm]") {
  require_norms<__nv_bfloat16>();
}

TEST_CASE("fused and plain operations follow each other in the same scratch", "[comm]") {
  norm_world<float> all{2, 3, 64, false, test::fresh_seed(), 0};
  for (int i = 0; i < 7; ++i) { REQUIRE(all.run() == ""); }
}

TEST_CASE("ranks that are asked for other rows of as many elements are told so", "[comm]") {
  if (test::small()) { return; }
  auto options = test::checked_options();
  options.timeout_seconds = 0.3;
  options.scratch_bytes = std::size_t{16} << 20U;
  comm::all_reduce engine{test::peers_of(2), options};
  engine.prepare<float>();
  test::rank_blocks blocks{test::peers_of(2), 5 * 8192 * sizeof(float)};
  comm::norm_buffers<float> rows;
  std::vector<stream> streams;
  for (int rank = 0; rank < 2; ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    auto* const at = reinterpret_cast<float*>(blocks.at(rank));
    rows.in[r] = at;
    rows.residual[r] = at + 8192;
    rows.gamma[r] = at + 2 * 8192;
    rows.out[r] = at + 3 * 8192;
    rows.residual_out[r] = at + 4 * 8192;
    streams.emplace_back(engine.device(rank));
  }
  auto const told = [&](std::size_t tokens, std::size_t hidden, float epsilon) {
    engine.enqueue_rms_norm(0, streams[0], rows, 2, 4096, 1e-5F);
    engine.enqueue_rms_norm(1, streams[1], rows, tokens, hidden, epsilon);
    for (auto const& on : streams) { on.synchronize(); }
    auto text = test::message_of([&] { engine.synchronize(0, streams[0]); });
    engine.reset();
    return text;
  };
  CHECK(told(2, 4096, 1e-5F) == "nothing was thrown");
  CHECK_THAT(told(1, 8192, 1e-5F), test::contains("different operations"));
  CHECK_THAT(told(2, 4096, 1e-6F), test::contains("different operations"));
}

TEST_CASE("rows too long for a block are refused", "[comm]") {
  comm::all_reduce engine{comm::peers::on_one(on::device{0}, 1)};
  stream const on{on::device{0}};
  test::rank_blocks const rows{comm::peers::on_one(on::device{0}, 1), 1 << 20};
  comm::norm_buffers<float> at;
  auto* const data = reinterpret_cast<float*>(rows.at(0));
  at.in[0] = at.residual[0] = at.gamma[0] = data;
  at.out[0] = at.residual_out[0] = data;
  CHECK_THROWS_WITH(engine.enqueue_rms_norm(0, on, at, 1, 100'000, 1e-5F),
                    test::contains("rows of 100000 elements"));
}
