// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::mapped`: no copies; the kernel reads and writes host memory over the link.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Calls `compute` once, on the addresses at which the device sees the host's arrays. The arrays
/// keep their alignment. Takes no device memory.
///
/// It pays where a kernel touches each byte once, and where the time to start copies counts: up to
/// 16 MiB each way on a PCIe 5 link. Copies that run meanwhile slow both. Refuses pageable arrays;
/// managed ones migrate.
struct mapped {
  static constexpr std::string_view name = "transfer::mapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  template <class Memory>
  engine<mapped, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory)};
  }

  template <class Executor, class Compute>
  void execute(Executor& executor, typename Executor::stream_type stream, job<Compute> const& what,
               std::vector<host_array> const& arrays) const {
    auto& link = executor.link();
    [[maybe_unused]] auto const current = link.current();
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    for (auto const& each : arrays) {
      if (each.kind == memory_type::pageable) { require_page_locked(name, {each}); }
      auto* const seen = link.alias_of(each.data);
      if (each.is_input) {
        inputs.push_back(seen);
      } else {
        outputs.push_back(seen);
      }
    }
    chunk const all{0, 0, what.elements, inputs, outputs};
    try {
      what.compute(stream, all);
    } catch (std::exception const& cause) {
      link.drain(stream);
      std::throw_with_nested(chunk_error{all, in_words(stage::compute), cause.what()});
    }
  }
  bool operator==(mapped const&) const = default;
};
static_assert(transfer_policy<mapped>);

}  // namespace assay::transfer
