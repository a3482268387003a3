// SPDX-License-Identifier: Apache-2.0
/// @file
/// A decoder: sizes and counts, its gradients by central differences, what it refuses.
#include "catch.hpp"
#include "nn/gradients.hpp"

#include <assay/transformer/host_trainer.hpp>
#include <assay/transformer/ledger.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

bool is_product(nn::ledger_entry const& each) { return nn::is_product(each.operation); }

std::int64_t products_of(nn::ledger const& all, nn::phase which) {
  return all.sum([&](auto const& e) { return is_product(e) && e.where.phase == which; }).first;
}

}  // namespace

TEST_CASE("sizes have their exact numbers of parameters and tensors", "[nn]") {
  struct row {
    nn::decoder model;
    std::int64_t parameters;
    std::size_t tensors;
  };
  std::array const rows{row{nn::size_small, 128'625'408, 111},
                        row{nn::size_medium, 423'183'360, 219},
                        row{nn::size_large, 969'411'840, 327}, row{nn::size_xl, 1'998'235'200, 435},
                        row{nn::size_2_7b, 3'406'809'600, 291}};
  for (auto const& each : rows) {
    each.model.validate();
    CHECK(each.model.parameters() == each.parameters);
    auto const tensors = nn::weight_tensors(each.model);
    CHECK(tensors.size() == each.tensors);
    CHECK(tensors.back().offset + tensors.back().size() ==
          static_cast<std::size_t>(each.parameters));
  }
  CHECK(nn::named_size("2.7B") == nn::size_2_7b);
  CHECK_THAT(message_of([] { nn::named_size("tiny"); }),
             contains("no size is called tiny: there are small, medium, large, xl and 2.7B"));
  CHECK(nn::size_2_7b.head_size() == 80);
  CHECK(nn::size_xl.head_size() == 64);
}

TEST_CASE("first weights: gains are one, matrices have the variance of Glorot", "[nn]") {
  nn::decoder const model{.width = 512, .inner = 256, .layers = 1, .heads = 2, .vocabulary = 300};
  auto const all = nn::initial_weights<float>(model, 7);
  CHECK(all == nn::initial_weights<float>(model, 7));
  CHECK(all != nn::initial_weights<float>(model, 8));
  for (auto const& tensor : nn::weight_tensors(model)) {
    INFO(tensor.name);
    double squares = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
      squares += static_cast<double>(all[i]) * static_cast<double>(all[i]);
    }
    auto const both = static_cast<double>(tensor.rows + tensor.columns);
    auto const wanted = tensor.rows == 0 ? 1 : tensor.offset == 0 ? 1.0 / 3 : 2 / both;
    CHECK(squares / static_cast<double>(tensor.size()) == Approx(wanted).epsilon(0.03));
  }
}

TEST_CASE("products are counted in the formula and in what runs", "[nn]") {
  auto const small = nn::size_small;
  CHECK(small.forward_products({}) == 109);
  CHECK(small.forward_products({.keeps_scores = false}) == 85);
  CHECK(small.forward_products({.packed = true, .keeps_scores = false}) == 49);
  for (auto const& model : {small, nn::size_2_7b}) {
    auto const check = [&](auto const& how) {
      nn::ledger const all{nn::problem{model}, how};
      auto const count = model.forward_products(layout_of(how));
      CHECK(products_of(all, nn::phase::forward) == count);
      CHECK(products_of(all, nn::phase::backward) == 2 * count);
      CHECK(products_of(all, nn::phase::loss) == 0);
    };
    check(nn::choices{});
    check(nn::choices{nn::bf16{}, nn::attention::naive{}, nn::projections::packed{}});
  }
}

TEST_CASE("SwiGLU ends packed products in bfloat16, and is apart otherwise", "[nn]") {
  nn::problem const of{nn::size_small};
  auto const count = [&](auto const& how, std::string_view name) {
    return nn::ledger{of, how}.sum([&](auto const& e) { return e.operation == name; }).first;
  };
  constexpr nn::choices separate{nn::bf16{}, nn::attention::naive{}};
  constexpr nn::choices packed = separate.with(nn::projections::packed{});
  CHECK(count(packed, nn::swiglu_product::name) == 12);
  CHECK(count(packed, nn::swiglu_product_gradient::name) == 12);
  CHECK(count(packed, nn::swiglu::name) + count(packed, nn::swiglu_gradient::name) == 0);
  for (auto const name : {nn::swiglu::name, nn::swiglu_gradient::name}) {
    CHECK(count(separate, name) == 12);
    CHECK(count(packed.with(nn::tf32{}), name) == 12);
  }
  auto const flops = [&](auto const& how) {
    return nn::ledger{of, how}.sum([](auto const&) { return true; }).second.flops;
  };
  CHECK(flops(packed) == flops(packed.with(nn::fp32{})));
}

TEST_CASE("each optimiser updates each weight once", "[nn]") {
  nn::problem const of{nn::size_small};
  auto const check = [&](auto const& optimiser, std::int64_t launches) {
    nn::ledger const all{of, nn::choices{}.with(optimiser)};
    auto const [count, cost] = all.sum([](auto const& e) {
      return e.where.phase == nn::phase::optimiser && e.operation == nn::adamw_update::name;
    });
    CHECK(count == launches);
    CHECK(cost.bytes() == 28.0 * 128'625'408);
  };
  check(nn::optimiser::fused{}, 1);
  check(nn::optimiser::per_tensor{}, 111);
}

TEST_CASE("updates in products have the work of both, and no gradient that is kept", "[nn]") {
  nn::problem const of{nn::size_small};
  auto const all = [](nn::ledger_entry const&) { return true; };
  constexpr nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed> apart;
  nn::ledger const usual{of, apart}, together{of, apart.with(nn::optimiser::in_products{})};
  auto const [count, cost] = usual.sum(all);
  auto const [fewer, less] = together.sum(all);
  auto const in_matrices = 128'625'408.0 - 25 * 768 - 10'000 * 768;
  CHECK(less.flops == cost.flops);
  CHECK(cost.bytes() - less.bytes() == 8 * in_matrices);
  // Products of two layers are one, with that of the head in the first; the embedding and three
  // kinds of gains are apart.
  CHECK(count - fewer == 12 * 4 + 1 - 6 - 4 + 1);
  // Two layers at once need a second array for each gradient that products of weights read, and the
  // gradient of the residual stream between the blocks of both.
  CHECK(nn::memory_plan{of, apart.with(nn::optimiser::in_products{})}.peak() -
            nn::memory_plan{of, apart}.peak() ==
        static_cast<std::size_t>(2 * of.tokens() * (6 * 768 + 2 * of.model.inner)));
  // A layer of xl is wide, and comes alone.
  nn::problem const xl{nn::size_xl};
  CHECK(nn::ledger{xl, apart}.sum(all).first -
            nn::ledger{xl, apart.with(nn::optimiser::in_products{})}.sum(all).first ==
        48 * 4 + 1 - 48 - 4 + 1);
  CHECK(nn::memory_plan{xl, apart.with(nn::optimiser::in_products{})}.peak() -
            nn::memory_plan{xl, apart}.peak() ==
        static_cast<std::size_t>(2 * xl.tokens() * 1600));
}

TEST_CASE("FLOPs of a step are those of the formula", "[nn]") {
  nn::problem const of{nn::size_small, 4, 512};
  nn::ledger const all{of};
  auto const flops = [&](nn::phase which) {
    return all.sum([&](auto const& e) { return is_product(e) && e.where.phase == which; })
        .second.flops;
  };
  // 2 N tokens for the matrices, and 4 d T tokens for attention, in each layer.
  double const matrices = 12.0 * (4 * 768 * 768 + 3 * 768 * 3072) + 10'000.0 * 768;
  double const forward = 2 * matrices * 4 * 512 + 12 * 2 * 1'610'612'736.0;
  CHECK(flops(nn::phase::forward) == forward);
  CHECK(flops(nn::phase::backward) == 2 * forward);
  CHECK(forward / 1e12 == Approx(0.534).epsilon(1e-3));
  auto const layer = all.sum([](auto const& e) {
    return e.where.layer == 3 && e.where.phase == nn::phase::forward && e.where.part == "scores";
  });
  CHECK(layer.first == 1);
  CHECK(layer.second.flops == 1'610'612'736);
  CHECK(of.causal_scores() == 4 * 12 * 512 * 513 / 2);
  auto const optimiser =
      all.sum([](auto const& e) { return e.where.phase == nn::phase::optimiser; });
  CHECK(optimiser.second.bytes() == 28.0 * 128'625'408);
}

TEST_CASE("a plan has the bytes of each purpose", "[nn]") {
  nn::problem const of{{.width = 6, .inner = 10, .layers = 2, .heads = 3, .vocabulary = 11}, 2, 5};
  nn::memory_plan const plan{of};
  auto const parameters = 4 * static_cast<std::size_t>(of.model.parameters());
  CHECK(plan.weights == (parameters + 255) / 256 * 256);
  CHECK(plan.gradients == plan.weights);
  CHECK(plan.moments == 2 * plan.weights);
  CHECK(plan.tokens == 256);  // of 4 (3 * 10 + 12) bytes
  CHECK(plan.constants == 2 * 256);
  // All parts are multiples of 256 bytes, or 64 elements: of 60, 10, 100, 150, 180, 200 elements.
  std::size_t const layer = 5 * 64 + 2 * 64 + 192 + 256 + 128 + 192;
  // Of 5 gains with 2 parts of 6 elements: 60.
  std::size_t const tail = 6 * 64 + 2 * 64 + 192 + 256 + 128 + 192 + 128 + 64 + 64;
  CHECK(plan.activations == 4 * (2 * layer + tail));
  CHECK(plan.peak() == plan.weights * 4 + plan.activations + 3 * 256 + (std::size_t{32} << 20));
  // Parts of 60 and 10 elements are 256 bytes in bfloat16 too, all others have half of their bytes.
  nn::memory_plan const half{of, nn::choices{nn::bf16{}}};
  CHECK(half.weights ==
        2 * ((2 * static_cast<std::size_t>(of.model.parameters()) + 255) / 256 * 256));
  CHECK(half.gradients == plan.weights);
  std::size_t const half_layer = 7 * 256 + 512 + 512 + 256 + 512;
  std::size_t const half_tail = 8 * 256 + 512 + 512 + 256 + 512 + 256 + 256 + 256 + 256;
  CHECK(half.activations == 2 * half_layer + half_tail);
}

TEST_CASE("gradients of gains go to the places of their tensors", "[nn]") {
  for (auto const& model : {nn::size_small, nn::size_xl, nn::size_2_7b}) {
    nn::operations const op{{model, 4, 513}, layout_of(nn::choices{})};
    auto const sums = op.gains(static_cast<std::size_t>(model.layers));
    auto const tensors = nn::weight_tensors(model);
    std::vector<std::size_t> places;
    for (auto const& each : tensors) {
      if (each.rows == 0) { places.push_back(each.offset - tensors[1].offset); }
    }
    REQUIRE(sums.gains == places.size());
    for (std::size_t g = 0; g < sums.gains; ++g) { CHECK(sums.place(g) == places[g]); }
    CHECK(sums.parts == (4 * 513 + 7) / 8);
    CHECK(sums.width == static_cast<std::size_t>(model.width));
  }
}

TEST_CASE("gains are added up at once where all weights are updated at once", "[nn]") {
  nn::problem const of{nn::size_small};
  auto const sums = [&](auto const& optimiser) {
    auto const how = nn::choices{}.with(optimiser);
    return nn::ledger{of, how}.sum(
        [](auto const& each) { return each.operation == nn::gain_sums::name; });
  };
  CHECK(sums(nn::optimiser::fused{}).first == 1);
  CHECK(sums(nn::optimiser::per_tensor{}).first == 0);
}

TEST_CASE("a plan has room for the terms of fused attention, or refuses its heads", "[nn]") {
  nn::decoder const model{.width = 128, .inner = 2, .layers = 1, .heads = 2, .vocabulary = 2};
  auto const workspace = [](nn::problem const& of) {
    return nn::memory_plan{of, nn::choices{nn::bf16{}, nn::attention::fused{}}}.workspace;
  };
  CHECK(workspace({model, 4, 512}) == nn::memory_plan::workspace_bytes);
  // Two floats for each of 2^22 rows of scores fill the usual workspace.
  CHECK(workspace({model, 1 << 12, 512}) == nn::memory_plan::workspace_bytes);
  CHECK(workspace({model, (1 << 12) + 1, 512}) == nn::memory_plan::workspace_bytes + 8 * 2 * 512);
  // 513 rows of a head have the terms of 640.
  CHECK(workspace({model, 1 << 12, 513}) == (std::size_t{8} << 13) * 640);
  CHECK(nn::memory_plan{{model, (1 << 12) + 1, 512}, nn::choices{nn::bf16{}}}.workspace ==
        nn::memory_plan::workspace_bytes);
  auto other = model;
  other.width = 192;
  CHECK_THAT(message_of([&] { workspace({other, 1, 1}); }),
             contains("the head size is 96, and 64, 80 and 128 are possible: use naive attention"));
}

TEST_CASE("gradients of a tiny model", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::int64_t const context : {1, 17}) {
    INFO("context " << context);
    nn::problem const of{
        {.width = 12, .inner = 10, .layers = 2, .heads = 3, .vocabulary = 11}, 2, context};
    nn::host_trainer<double> model{of, {}, seed};
    auto const batch = nn::random_batch(of, seed);
    auto const loss = model.loss_and_gradients(batch);
    CHECK(loss > 0);
    std::vector<double> const found{model.gradients().begin(), model.gradients().end()};
    auto const require_same = [&](auto&& other) {
      CHECK(std::abs(other.loss_and_gradients(batch) - loss) <= 1e-12);
      double apart = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        apart = std::max(apart, std::abs(other.gradients()[i] - found[i]));
      }
      CHECK(apart <= 1e-12);
    };
    // Packed products and fused attention are the same in another order of their sums.
    auto const trainer = [&](auto const& how) {
      return std::make_unique<nn::host_trainer<double, std::decay_t<decltype(how)>>>(
          of, nn::adamw{}, seed, how);
    };
    auto const fused = nn::choices{}.with(nn::attention::fused{});
    require_same(*trainer(nn::choices{}.with(nn::projections::packed{})));
    require_same(*trainer(fused));
    require_same(*trainer(fused.with(nn::projections::packed{})));
    // The arrays of the first pass do not leak into a second one.
    CHECK(model.loss_and_gradients(batch) == loss);
    CHECK(std::ranges::equal(model.gradients(), found));
    auto const value = [&] { return model.loss(batch); };
    CHECK(test::derivative_error(value, model.weights(), found, seed + 1) <= 1e-6);
    for (auto const& tensor : nn::weight_tensors(of.model)) {
      INFO(tensor.name);
      auto const part = std::span{found}.subspan(tensor.offset, tensor.size());
      auto const weights = model.weights().subspan(tensor.offset, tensor.size());
      CHECK(test::derivative_error(value, weights, part, seed + 2, 5e-5) <= 1e-6);
    }
  }
}

TEST_CASE("a later token changes no earlier logit", "[nn]") {
  nn::problem const of{{.width = 4, .inner = 6, .layers = 2, .heads = 2, .vocabulary = 5}, 1, 6};
  auto all = nn::initial_weights<double>(of.model, 1);
  nn::weights<double> const w{of.model, all};
  std::vector<std::byte> held(nn::activations<double>{of}.bytes);
  auto const short_of_one = std::span{held}.first(held.size() - 1);
  CHECK_THAT(message_of([&] { nn::activations<double>{of, {}, short_of_one}; }),
             contains("more than the " + std::to_string(short_of_one.size()) + " bytes given"));
  nn::activations<double> a{of, {}, held};
  auto const turns = nn::rope_table<double>(6, 2);
  a.turns = turns;
  nn::host_runner run;
  auto const logits = [&](std::vector<nn::token> const& tokens) {
    nn::forward_pass(run, of, nn::attention::naive{}, tokens, w, a);
    return std::vector<double>{a.logits.begin(), a.logits.end()};
  };
  auto const one = logits({0, 1, 2, 3, 0, 1}), other = logits({0, 1, 2, 3, 0, 4});
  CHECK(std::equal(one.begin(), one.begin() + 25, other.begin()));
  CHECK(!std::equal(one.begin() + 25, one.end(), other.begin() + 25));
}

TEST_CASE("float and double agree", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::problem const of{{.width = 8, .inner = 12, .layers = 2, .heads = 2, .vocabulary = 9}, 2, 17};
  auto const batch = nn::random_batch(of, seed);
  nn::host_trainer<double> wide{of, {}, seed};
  nn::host_trainer<float> narrow{of, {}, seed};
  auto const loss = static_cast<double>(narrow.loss_and_gradients(batch));
  CHECK(std::abs(loss / wide.loss_and_gradients(batch) - 1) <= 1e-5);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < wide.gradients().size(); ++i) {
    difference += std::pow(narrow.gradients()[i] - wide.gradients()[i], 2);
    norm += std::pow(wide.gradients()[i], 2);
  }
  CHECK(std::sqrt(difference / norm) <= 2e-5);
}

TEST_CASE("what a decoder refuses, with value and range", "[nn]") {
  auto const refused = [](nn::problem const& of) {
    return message_of([&] { nn::host_trainer<float>{of}; });
  };
  nn::decoder const tiny{.width = 8, .inner = 8, .layers = 1, .heads = 2, .vocabulary = 4};
  auto const with = [&](auto change) {
    auto changed = tiny;
    change(changed);
    return nn::problem{changed, 1, 4};
  };
  CHECK_THAT(refused(with([](auto& m) { m.heads = 3; })),
             contains("width 8 is not divisible by the number of heads 3"));
  CHECK_THAT(refused(with([](auto& m) { m.heads = 8; })),
             contains("head size 1 (width / heads) is odd"));
  CHECK_THAT(refused(with([](auto& m) { m.heads = 0; })),
             contains("number of heads is 0, allowed are 1 to 8"));
  CHECK_THAT(refused(with([](auto& m) { m.layers = -1; })), contains("number of layers is -1"));
  CHECK_THAT(refused({tiny, 1, 0}), contains("context is 0, allowed are 1 to 1048576"));
  CHECK_THAT(refused({tiny, 0, 4}), contains("batch is 0, allowed are 1 to 1048576"));
  nn::host_trainer<float> model{{tiny, 1, 4}};
  CHECK_THAT(message_of([&] { model.step({{0, 1, 2, 4}, {0, 1, 2, 3}}); }),
             contains("token 4 is not in the vocabulary, which has tokens 0 to 3"));
  CHECK_THAT(message_of([&] { model.step({{0, 1, 2, 3}, {0, -1, 2, 3}}); }),
             contains("token -1 is not"));
  CHECK_THAT(message_of([&] { model.step({{0, 1, 2}, {0, 1, 2}}); }),
             contains("inputs has 3 elements, its shape has 4"));
  CHECK(model.steps() == 0);
}

TEST_CASE("a loss that is not finite ends a run with its step", "[nn]") {
  nn::problem const of{{.width = 4, .inner = 4, .layers = 1, .heads = 2, .vocabulary = 4}, 1, 4};
  nn::host_trainer<float> model{of};
  auto const batch = nn::random_batch(of, 1);
  model.step(batch);
  model.weights()[0] = std::numeric_limits<float>::quiet_NaN();
  nn::token_batch const zeros{{0, 0, 0, 0}, {0, 0, 0, 0}};
  CHECK_THAT(message_of([&] { model.step(zeros); }), contains("the loss of step 2 is nan"));
}
