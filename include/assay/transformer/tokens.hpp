// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tokens to train on: a random source of known entropy, and the bytes of a text.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/random.hpp>
#include <assay/nn/operation.hpp>
#include <assay/transformer/decoder.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::nn {

/// The tokens of one step, sequence after sequence, and the token that follows each.
struct token_batch {
  std::vector<token> inputs;
  std::vector<token> targets;
  bool operator==(token_batch const&) const = default;
};

/// Throws `std::invalid_argument` unless the batch has the tokens of the problem, all of them in
/// the vocabulary.
inline void require_batch(problem const& of, token_batch const& batch) {
  auto const count = static_cast<std::size_t>(of.tokens());
  for (auto const* each : {&batch.inputs, &batch.targets}) {
    detail::require_size("a batch", each == &batch.inputs ? "inputs" : "targets", std::span{*each},
                         count);
    for (auto const which : *each) {
      detail::require_token(which, static_cast<std::size_t>(of.model.vocabulary));
    }
  }
}

namespace detail {

/// Sequences with one token more than their inputs: `fill` writes each.
template <class Fill>
token_batch batch_of(std::int64_t batch, std::int64_t context, Fill const& fill) {
  require_range("the batch", batch, 1, 1 << 20);
  require_range("the context", context, 1, 1 << 20);
  token_batch made;
  std::vector<token> sequence(static_cast<std::size_t>(context) + 1);
  for (std::int64_t b = 0; b < batch; ++b) {
    fill(static_cast<std::uint64_t>(b), std::span{sequence});
    made.inputs.insert(made.inputs.end(), sequence.begin(), sequence.end() - 1);
    made.targets.insert(made.targets.end(), sequence.begin() + 1, sequence.end());
  }
  return made;
}

/// Uniform in [0, 1) of a seed and three indices.
inline double random_share(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return random_value(uniform<double>{0, 1}, random_bits(random_bits(seed, a), b), c);
}

}  // namespace detail

/// Tokens that are independent of each other, for passes with a loss that does not matter.
inline token_batch random_batch(problem const& of, std::uint64_t seed) {
  auto const drawn = [&](std::uint64_t of_part) {
    std::vector<token> all(static_cast<std::size_t>(of.tokens()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const bits = random_bits(random_bits(seed, of_part), i);
      all[i] = static_cast<token>(bits % static_cast<std::uint64_t>(of.model.vocabulary));
    }
    return all;
  };
  return {drawn(0), drawn(1)};
}

/// The same, but words are as frequent as those of a text (Zipf): the share of a word falls with
/// one over its place in the vocabulary, from 1.
inline token_batch zipf_batch(problem const& of, std::uint64_t seed) {
  std::vector<double> below;  // shares of a word and those before it, up to a factor
  for (std::int64_t word = 0; word < of.model.vocabulary; ++word) {
    below.push_back((below.empty() ? 0 : below.back()) + 1 / static_cast<double>(word + 1));
  }
  auto const drawn = [&](std::uint64_t of_part) {
    std::vector<token> all(static_cast<std::size_t>(of.tokens()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const share = detail::random_share(seed, of_part, 0, i) * below.back();
      auto const found = std::upper_bound(below.begin(), below.end() - 1, share);
      all[i] = static_cast<token>(found - below.begin());
    }
    return all;
  };
  return {drawn(0), drawn(1)};
}

/// A Markov chain of order one, which its seed alone decides. No model has a mean loss below its
/// entropy.
class markov_source {
 public:
  /// Weights of the successors of a token are u^sharpness, with u uniform: a larger sharpness
  /// lowers the entropy.
  markov_source(std::int64_t vocabulary, std::uint64_t seed, double sharpness = 6)
      : seed_(seed), size_(static_cast<std::size_t>(vocabulary)) {
    detail::require_range("the vocabulary", vocabulary, 2, 4096);
    if (!(sharpness >= 0 && sharpness <= 100)) {
      throw std::invalid_argument("the sharpness is " + std::to_string(sharpness) +
                                  ", allowed are 0 to 100");
    }
    next_.resize(size_ * size_);
    for (std::size_t from = 0; from < size_; ++from) {
      auto const row = std::span{next_}.subspan(from * size_, size_);
      double sum = 0;
      for (std::size_t to = 0; to < size_; ++to) {
        row[to] = 1e-3 + std::pow(detail::random_share(seed, 0, from, to), sharpness);
        sum += row[to];
      }
      for (auto& each : row) { each /= sum; }
    }
    find_stationary();
  }

  /// In nats for each token.
  double entropy() const {
    double all = 0;
    for (std::size_t from = 0; from < size_; ++from) {
      for (std::size_t to = 0; to < size_; ++to) {
        auto const p = next_[from * size_ + to];
        all -= stationary_[from] * p * std::log(p);
      }
    }
    return all;
  }

  /// The mean of -log p of the targets under the source itself.
  double loss(token_batch const& batch) const {
    double all = 0;
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      all -= std::log(next_[static_cast<std::size_t>(batch.inputs[i]) * size_ +
                            static_cast<std::size_t>(batch.targets[i])]);
    }
    return all / static_cast<double>(batch.inputs.size());
  }

  /// The batch of a number: other numbers give independent tokens.
  token_batch batch(std::uint64_t number, std::int64_t batch, std::int64_t context) const {
    return detail::batch_of(batch, context, [&](std::uint64_t which, std::span<token> sequence) {
      auto const seed = random_bits(random_bits(seed_, number + 1), which);
      std::span<double const> from = stationary_;
      for (std::size_t t = 0; t < sequence.size(); ++t) {
        auto const drawn = pick(from, random_value(uniform<double>{0, 1}, seed, t));
        sequence[t] = static_cast<token>(drawn);
        from = std::span{next_}.subspan(drawn * size_, size_);
      }
    });
  }

 private:
  /// All transitions are positive, so the chain forgets its start by a constant factor a step.
  void find_stationary() {
    stationary_.assign(size_, 1 / static_cast<double>(size_));
    double change = 1;
    while (change > 1e-15) {
      std::vector<double> after(size_, 0);
      for (std::size_t from = 0; from < size_; ++from) {
        for (std::size_t to = 0; to < size_; ++to) {
          after[to] += stationary_[from] * next_[from * size_ + to];
        }
      }
      change = 0;
      for (std::size_t i = 0; i < size_; ++i) {
        change = std::max(change, std::abs(after[i] - stationary_[i]));
      }
      stationary_ = std::move(after);
    }
  }

  static std::size_t pick(std::span<double const> weights, double share) {
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
      share -= weights[i];
      if (share < 0) { return i; }
    }
    return weights.size() - 1;
  }

  std::uint64_t seed_;
  std::size_t size_;
  std::vector<double> next_;
  std::vector<double> stationary_;
};

/// A text; each byte is a token, for a vocabulary of 256 or more.
class byte_text {
 public:
  static constexpr std::int64_t vocabulary = 256;

  /// Reads a file; throws `read_error`.
  static byte_text read(std::string const& path) {
    auto const size = require_readable(path);
    std::ifstream file{path, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (text.size() != size) { throw read_error(path, "it ends early"); }
    return byte_text{std::move(text)};
  }
  explicit byte_text(std::string text, std::uint64_t seed = 1)
      : text_(std::move(text)), seed_(seed) {}

  std::size_t size() const { return text_.size(); }

  /// Random parts of the text: the batch of a number. Throws `std::invalid_argument` where the text
  /// has no context + 1 bytes.
  token_batch batch(std::uint64_t number, std::int64_t batch, std::int64_t context) const {
    detail::require_range("the context", context, 1, 1 << 20);
    auto const length = static_cast<std::size_t>(context) + 1;
    if (text_.size() < length) {
      throw std::invalid_argument("the text has " + std::to_string(text_.size()) +
                                  " bytes, a context of " + std::to_string(context) + " needs " +
                                  std::to_string(length) + " or more");
    }
    auto const starts = text_.size() - length + 1;
    return detail::batch_of(batch, context, [&](std::uint64_t which, std::span<token> sequence) {
      auto const first = random_bits(random_bits(seed_, number), which) % starts;
      for (std::size_t t = 0; t < sequence.size(); ++t) {
        sequence[t] = static_cast<unsigned char>(text_[first + t]);
      }
    });
  }

  /// The entropy of a byte once the byte before it is known, in nats: what counts of pairs reach.
  double bigram_entropy() const {
    std::vector<double> pairs(vocabulary * vocabulary, 0);
    std::array<double, vocabulary> firsts{};
    for (std::size_t i = 0; i + 1 < text_.size(); ++i) {
      auto const from = static_cast<std::size_t>(static_cast<unsigned char>(text_[i]));
      ++pairs[from * vocabulary + static_cast<unsigned char>(text_[i + 1])];
      ++firsts[from];
    }
    double all = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i] > 0) { all -= pairs[i] * std::log(pairs[i] / firsts[i / vocabulary]); }
    }
    return text_.size() < 2 ? 0 : all / static_cast<double>(text_.size() - 1);
  }

 private:
  std::string text_;
  std::uint64_t seed_;
};

}  // namespace assay::nn
