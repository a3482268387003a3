// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files of weights: written and read without loss, damaged ones refused.
#include "catch.hpp"
#include "folder.hpp"

#include <assay/transformer/host_trainer.hpp>
#include <assay/transformer/safetensors.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

constexpr nn::decoder model{.width = 6, .inner = 10, .layers = 2, .heads = 3, .vocabulary = 5};

/// A file of the same data with another header.
template <class Change>
void rewrite(std::string const& path, std::string const& original, Change const& change) {
  std::uint64_t length = 0;
  std::memcpy(&length, original.data(), 8);
  auto header = nlohmann::ordered_json::parse(original.substr(8, length));
  change(header);
  auto const text = header.dump();
  length = text.size();
  std::string changed(8, '\0');
  std::memcpy(changed.data(), &length, 8);
  changed += text;
  changed += original.substr(original.size() - 4 * static_cast<std::size_t>(model.parameters()));
  std::ofstream{path, std::ios::binary} << changed;
}

struct saved_file {
  test::folder folder;
  std::string path = (folder / "weights.safetensors").string();
  std::vector<float> weights = nn::initial_weights<float>(model, 3);
  saved_file() { nn::save_weights<float>(path, model, weights); }
  std::string reading() const {
    return message_of([&] { nn::load_weights<float>(path, model); });
  }
};

}  // namespace

TEST_CASE("weights come back from a file bit by bit", "[nn]") {
  saved_file const file;
  CHECK(nn::load_weights<float>(file.path, model) == file.weights);
  auto const wide = nn::initial_weights<double>(model, 4);
  nn::save_weights<double>(file.path, model, wide);
  CHECK(nn::load_weights<double>(file.path, model) == wide);
  CHECK_THAT(file.reading(), contains("token_embeddings.weight has type \"F64\", wanted is F32"));
  CHECK_THAT(
      message_of([&] { nn::save_weights<double>(file.path, model, std::span{wide}.first(3)); }),
      contains("there are 3 weights, the model has"));
}

TEST_CASE("a file has the layout that readers of safetensors expect", "[nn]") {
  saved_file const file;
  auto const bytes = test::content(file.path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  auto const header = nlohmann::json::parse(bytes.substr(8, length));
  CHECK(header.size() == 3 + 9 * 2);
  CHECK(header["layers.1.ffn.w2.weight"]["shape"] == nlohmann::json{6, 10});
  CHECK(header["layers.1.ffn.w2.weight"]["dtype"] == "F32");
  CHECK(header["ln_final.weight"]["shape"] == nlohmann::json{6});
  CHECK(header["lm_head.weight"]["data_offsets"][1] == 4 * model.parameters());
  CHECK(bytes.size() == 8 + length + 4 * static_cast<std::size_t>(model.parameters()));
  float gain = 0;
  auto const at = header["layers.0.ln1.weight"]["data_offsets"][0].get<std::size_t>();
  std::memcpy(&gain, bytes.data() + 8 + length + at, 4);
  CHECK(gain == 1);
}

TEST_CASE("each truncation of a file is refused", "[nn]") {
  saved_file const file;
  auto const bytes = test::content(file.path);
  for (std::size_t const kept : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{500},
                                 bytes.size() - 4, bytes.size() - 1}) {
    INFO("kept " << kept);
    std::ofstream{file.path, std::ios::binary} << bytes.substr(0, kept);
    CHECK_THAT(file.reading(), contains("cannot read"));
  }
  std::ofstream{file.path, std::ios::binary} << bytes << "more";
  CHECK_THAT(file.reading(), contains("bytes of data, its tensors have"));
  CHECK_THAT(message_of([&] { nn::load_weights<float>(file.path + "2", model); }),
             contains("No such file"));
}

TEST_CASE("foreign files are refused", "[nn]") {
  saved_file const file;
  std::ofstream{file.path, std::ios::binary} << "PK\x03\x04 another kind of file, a long one";
  CHECK_THAT(file.reading(), contains("truncated, or no safetensors file"));
  std::string const text = std::string{"\x04\0\0\0\0\0\0\0", 8} + "[1] ";
  std::ofstream{file.path, std::ios::binary} << text;
  CHECK_THAT(file.reading(), contains("no object of JSON"));
}

TEST_CASE("missing, extra and misshapen tensors are refused by name", "[nn]") {
  saved_file const file;
  auto const bytes = test::content(file.path);
  auto const told = [&](auto change) {
    rewrite(file.path, bytes, change);
    return file.reading();
  };
  CHECK(told([](auto&) {}) == "nothing was thrown");
  CHECK(told([](auto& h) { h["__metadata__"] = {{"format", "pt"}}; }) == "nothing was thrown");
  CHECK_THAT(told([](auto& h) { h.erase("layers.1.ln2.weight"); }),
             contains("tensor layers.1.ln2.weight is missing"));
  CHECK_THAT(told([](auto& h) { h["bias"] = h["ln_final.weight"]; }),
             contains("tensor bias is not one of the model"));
  CHECK_THAT(told([](auto& h) { h["lm_head.weight"]["shape"] = {6, 5}; }),
             contains("lm_head.weight has shape [6,5], wanted is [5,6]"));
  CHECK_THAT(told([](auto& h) { h["lm_head.weight"]["data_offsets"] = {0, 4}; }),
             contains("lm_head.weight is at bytes [0,4]"));
  CHECK_THAT(
      told([](auto& h) { h["lm_head.weight"]["data_offsets"] = {1 << 20, (1 << 20) + 120}; }),
      contains("lm_head.weight is at bytes"));
  CHECK_THAT(told([](auto& h) { h["lm_head.weight"]["data_offsets"] = "none"; }),
             contains("lm_head.weight has no two offsets"));
  CHECK_THAT(told([](auto& h) { h["lm_head.weight"] = 3; }),
             contains("lm_head.weight has type null"));
}

TEST_CASE("a trained model goes on from its file", "[nn]") {
  test::folder const folder;
  auto const path = (folder / "weights").string();
  nn::problem const of{model, 2, 7};
  nn::markov_source const source{5, 1};
  nn::host_trainer<float> first{of}, second{of, {}, 99};
  for (std::uint64_t i = 0; i < 3; ++i) { first.step(source.batch(i, 2, 7)); }
  // docs: keep
  nn::save_weights<float>(path, of.model, first.weights());
  auto const loaded = nn::load_weights<float>(path, of.model);  // for this model, or a `read_error`
  std::copy(loaded.begin(), loaded.end(), second.weights().begin());
  // docs: end
  auto const batch = source.batch(9, 2, 7);
  CHECK(first.loss(batch) == second.loss(batch));
}
