// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::mapped`: no copies; the kernel reads and writes host memory itself.
#pragma once

#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

namespace assay::transfer {

/// One call of `compute` on the addresses at which the device sees the host's arrays, which keep
/// the alignment that they have there: it pays where each byte is touched once and the job is so
/// small that starting copies counts (up to 16 MiB each way on a PCIe 5 link). Copy engines that
/// work meanwhile cost both dear. Takes no device memory. Refuses pageable arrays; managed ones
/// migrate.
struct mapped {
  static constexpr std::string_view name = "transfer::mapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  template <class Memory>
  engine<mapped, cuda_link, Memory> open(on::device place, Memory memory) const {
    return {*this, cuda_link{place}, std::move(memory)};
  }

  template <class Courier, class Compute>
  void carry(Courier& carrier, typename Courier::stream_type stream, job<Compute> const& what,
             std::vector<host_array> const& arrays) const {
    auto& link = carrier.link();
    [[maybe_unused]] auto const current = link.current();
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    for (auto const& each : arrays) {
      if (each.kind == host_kind::pageable) { require_page_locked(name, {each}); }
      auto* const seen = link.alias_of(each.data);
      if (each.leaves_host) {
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
