// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// A step of several ranks. The ranks are threads here, which average gradients in float64.
#include "catch.hpp"

#include <assay/transformer/host_trainer.hpp>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

nn::problem const whole{
    {.width = 16, .inner = 32, .layers = 3, .heads = 2, .vocabulary = 16}, 6, 16};
nn::adamw const quick{.learning_rate = 1e-2};
constexpr auto per_tensor = nn::choices{}.with(nn::optimiser::per_tensor{});

/// The gradients of all ranks that are averaged now.
struct meeting {
  explicit meeting(int ranks) : parts(static_cast<std::size_t>(ranks)), together(ranks) {}
  std::vector<std::span<double>> parts;
  std::barrier<> together;
};

/// One rank's part of an average.
class average {
 public:
  average(meeting& with, int rank, std::vector<nn::gradient_bucket> buckets)
      : with_(with), rank_(rank), buckets_(std::move(buckets)) {}
  std::vector<nn::gradient_bucket> const& buckets() const { return buckets_; }
  void begin(nn::gradient_bucket const&, std::span<double> gradients) {
    with_.parts[static_cast<std::size_t>(rank_)] = gradients;
    with_.together.arrive_and_wait();
    std::vector<double> sum(gradients.size());
    for (auto const& part : with_.parts) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += part[i] / static_cast<double>(with_.parts.size());
      }
    }
    with_.together.arrive_and_wait();
    std::ranges::copy(sum, gradients.begin());
  }
  void wait(nn::gradient_bucket const&) {}

 private:
  meeting& with_;
  int rank_;
  std::vector<nn::gradient_bucket> buckets_;
};

/// The mean losses of steps of so many ranks, and the weights after them.
struct trained {
  std::vector<double> losses, weights;
};

trained train(int ranks, std::size_t least, int steps) {
  nn::markov_source const source{16, 7};
  auto own = whole;
  own.batch /= ranks;
  meeting with{ranks};
  trained all{std::vector<double>(static_cast<std::size_t>(steps)), {}};
  std::vector<std::vector<double>> losses(static_cast<std::size_t>(ranks), all.losses);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      nn::host_trainer<double, std::remove_const_t<decltype(per_tensor)>> run{own, quick};
      for (int i = 0; i < steps; ++i) {
        average reduce{with, rank, nn::gradient_buckets(own.model, least)};
        auto const batch = source.batch(static_cast<std::uint64_t>(i), whole.batch, whole.context);
        losses[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] =
            run.step(nn::part_of(batch, whole.batch, rank, ranks), reduce);
      }
      if (rank == 0) { all.weights.assign(run.weights().begin(), run.weights().end()); }
    });
  }
  threads.clear();
  for (auto const& each : losses) {
    for (std::size_t i = 0; i < each.size(); ++i) { all.losses[i] += each[i] / ranks; }
  }
  return all;
}

}  // namespace

TEST_CASE("the losses of ranks are those of one rank with the whole batch", "[nn]") {
  nn::markov_source const source{16, 7};
  constexpr int steps = 12;
  nn::host_trainer<double> alone{whole, quick};
  std::vector<double> wanted;
  for (std::uint64_t i = 0; i < steps; ++i) {
    wanted.push_back(alone.step(source.batch(i, whole.batch, whole.context)));
  }
  CHECK(wanted.back() < wanted.front());
  for (int const ranks : {1, 2, 3}) {
    for (std::size_t const least : {std::size_t{1}, std::size_t{4000}, SIZE_MAX}) {
      INFO(ranks << " ranks, buckets of " << least);
      auto const found = train(ranks, least, steps);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        INFO("step " << i);
        CHECK(std::abs(found.losses[i] / wanted[i] - 1) < 1e-9);
      }
      double apart = 0;
      for (std::size_t i = 0; i < found.weights.size(); ++i) {
        apart = std::max(apart, std::abs(found.weights[i] - alone.weights()[i]));
      }
      CHECK(apart < 1e-7);
    }
  }
}

TEST_CASE("buckets are whole layers, from the end of the gradients on, without gaps", "[nn]") {
  auto const& model = whole.model;
  auto const tensors = nn::weight_tensors(model);
  auto const total = static_cast<std::size_t>(model.parameters());
  auto const each = nn::gradient_buckets(model, 1);
  REQUIRE(each.size() == 4);  // the last layer with the head, two layers, and the embedding
  CHECK(each[0].offset == tensors[1 + 2 * 9].offset);
  CHECK(each[0].complete == nn::place_in_step{nn::phase::backward, 2, "norm1"});
  CHECK(each[3].complete == nn::place_in_step{nn::phase::backward, -1, "embedding"});
  for (std::size_t const least : {std::size_t{1}, std::size_t{3000}, std::size_t{6000}, SIZE_MAX}) {
    auto end = total;
    auto const all = nn::gradient_buckets(model, least);
    for (auto const& one : all) {
      CHECK(one.offset + one.count == end);
      CHECK((one.count >= least || &one == &all.back()));
      end = one.offset;
    }
    CHECK(end == 0);
  }
  CHECK(nn::gradient_buckets(model, SIZE_MAX).size() == 1);
}

TEST_CASE("a bucket is begun when its gradients are complete, and each is waited for", "[nn]") {
  // Each bucket is spoilt when it is begun: the pass writes to none of it from then on.
  struct spoiler {
    std::vector<nn::gradient_bucket> list;
    std::vector<nn::gradient_bucket> begun{}, waited{};
    std::span<double> all{};
    std::vector<nn::gradient_bucket> const& buckets() const { return list; }
    void begin(nn::gradient_bucket const& which, std::span<double> gradients) {
      begun.push_back(which);
      CHECK(gradients.size() == which.count);
      CHECK(std::ranges::count(gradients, 0.0) < std::ssize(gradients));  // they are there
      std::ranges::fill(gradients, 0.0);
    }
    void wait(nn::gradient_bucket const& which) { waited.push_back(which); }
  };
  nn::host_trainer<double, std::remove_const_t<decltype(per_tensor)>> run{whole, quick};
  spoiler reduce{nn::gradient_buckets(whole.model, 1)};
  run.step(nn::markov_source{16, 7}.batch(0, whole.batch, whole.context), reduce);
  CHECK(reduce.begun == reduce.list);
  CHECK(reduce.waited == reduce.list);
  CHECK(std::ranges::count(run.gradients(), 0.0) == std::ssize(run.gradients()));
}

TEST_CASE("ranks share the sequences of a batch evenly", "[nn]") {
  auto const batch = nn::markov_source{16, 7}.batch(0, 6, 4);
  std::vector<nn::token> inputs, targets;
  for (int rank = 0; rank < 3; ++rank) {
    auto const part = nn::part_of(batch, 6, rank, 3);
    CHECK(part.inputs.size() == 8);
    inputs.insert(inputs.end(), part.inputs.begin(), part.inputs.end());
    targets.insert(targets.end(), part.targets.begin(), part.targets.end());
  }
  CHECK(inputs == batch.inputs);
  CHECK(targets == batch.targets);
  CHECK_THAT(message_of([&] { nn::part_of(batch, 6, 0, 4); }),
             contains("the batch of 6 sequences is not divisible by 4 ranks"));
}
