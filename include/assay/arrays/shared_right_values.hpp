// SPDX-License-Identifier: Apache-2.0
/// @file
/// `shared_right_values`: right values that many setups compute once.
#pragma once

#include <assay/core/requirements.hpp>

#include <memory>

namespace assay {

class setup;

namespace arrays::detail {
class right_values_memo;
}  // namespace arrays::detail

/// Right values for `setup::share`, to be captured by all factories that compute the same. Copies
/// are one object. It keeps the values of one seed and one size, until its last copy ends.
///
/// The first setup computes them by its functions. A setup with the same seed, inputs and scalars
/// takes them, and any other one computes its own. The n-th expectation of one setup is the n-th of
/// all. A setup that takes values calls its own `f(i)` for 66 elements, and throws unless it
/// returns the same bits. No element of `f(std::span)` can be computed alone: that such functions
/// compute the same is the caller's word. Values with errors, and samples, are not shared.
class shared_right_values {
 public:
  shared_right_values();

 private:
  friend class setup;
  std::shared_ptr<arrays::detail::right_values_memo> memo_;
};

}  // namespace assay
