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
class shared_right_values {
 public:
  shared_right_values();

 private:
  friend class setup;
  std::shared_ptr<arrays::detail::right_values_memo> memo_;
};

}  // namespace assay
