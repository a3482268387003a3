// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to verify_definitions.hpp: where the calls of a verification run.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/callables/callable.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace assay::verify_detail {

/// Makes arrays and runs calls. A call is complete when its function returns.
class call_place {
 public:
  virtual ~call_place() = default;
  virtual std::unique_ptr<arrays::array_store> make_store() = 0;
  virtual void call(callables::work const& what) = 0;

  /// Records a call in a graph. Returns what runs the graph; nothing where a call cannot be
  /// recorded.
  virtual std::optional<std::function<void()>> record(callables::work const&) { return {}; }
  /// Runs two calls at once, on two streams; false where the place has no streams.
  virtual bool call_both(callables::work const&, callables::work const&) { return false; }
  /// False where an error has ended all further work of this process.
  virtual bool is_alive() { return true; }
};

/// The calling thread.
class host_place final : public call_place {
 public:
  std::unique_ptr<arrays::array_store> make_store() override {
    return std::make_unique<arrays::host_array_store>(0);
  }
  void call(callables::work const& what) override { what(nullptr); }
};

}  // namespace assay::verify_detail
