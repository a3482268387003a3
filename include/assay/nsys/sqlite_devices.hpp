// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nsys. The devices of an export: their descriptions, and one number for each.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/utf8.hpp>
#include <assay/nsys/columns.hpp>
#include <assay/nsys/sqlite_rows.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads the devices: `read` before the events, `renumber` after the events.
///
/// Each process numbers the devices that it sees from 0. The model has these numbers where they
/// mean the same device in all processes, else the numbers of TARGET_INFO_GPU.
class device_reader {
 public:
  explicit device_reader(open_export& in) : in_(in) {}

  void read() {
    read_visible();
    auto const each = [&](std::string const& table, auto const& describe) {
      nsys::column_list wanted;
      nsys::gpu_row blank;
      describe(wanted, blank);
      auto row = in_.tables.select(table, wanted.read);
      while (row && row->step()) {
        row_reader reader{*row, in_};
        nsys::gpu_row made;
        describe(reader, made);
        add_device(made);
      }
    };
    each("TARGET_INFO_GPU", [](auto& visit, auto& row) { nsys::columns(visit, row); });
    each("TARGET_INFO_CUDA_GPU", [](auto& visit, auto& row) { nsys::columns_of_2021(visit, row); });
  }

  /// Gives all rows the model's numbers.
  void renumber() {
    if (!differ_) { return note_shared(); }
    auto const move = [&](std::uint32_t process, std::int32_t& device) {
      if (device < 0) { return; }
      // A process that the export does not tell of shares no device with others.
      auto const [at, fresh] = numbers_.try_emplace({process, device}, next_);
      next_ += fresh ? 1 : 0;
      device = at->second;
    };
    auto const move_rows = [&](auto& rows) {
      for (auto& each : rows) { move(each.where.process, each.where.device); }
    };
    each_device_table(in_.into, move_rows);
    move_rows(in_.into.synchronizations);
    move_rows(in_.into.memory);
    for (auto& each : in_.into.copies) {
      move(each.where.process, each.from_device);
      move(each.where.process, each.to_device);
    }
    for (auto& each : in_.into.device_faults) { move(each.process, each.device); }
  }

 private:
  /// A device as the machine has it. Parts of one GPU (MIG) differ in their `uuid` alone.
  struct physical {
    std::int64_t gpu = 0;
    std::string uuid;
    std::int32_t ordinal = 0;  ///< of the first process that sees it
    std::int32_t number = 0;   ///< in the model

    bool is(std::int64_t other_gpu, std::string const& other) const {
      return gpu == other_gpu && (uuid == other || uuid.empty() || other.empty());
    }
  };

  void read_visible() {
    auto row = in_.tables.select("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId", "uuid"});
    std::map<std::pair<std::uint32_t, std::int32_t>, std::size_t> seen;
    while (row && row->step()) {
      auto const process = static_cast<std::uint32_t>(row->integer());
      auto const ordinal = static_cast<std::int32_t>(row->integer());
      auto const gpu = row->integer();
      auto const uuid = repaired_utf8(row->text());
      auto const known =
          std::ranges::find_if(all_, [&](auto const& each) { return each.is(gpu, uuid); });
      auto const shared = std::ranges::find(all_, ordinal, &physical::ordinal);
      differ_ = differ_ || known != shared;
      seen[{process, ordinal}] = static_cast<std::size_t>(known - all_.begin());
      if (known == all_.end()) { all_.push_back({gpu, uuid, ordinal, ordinal}); }
    }
    if (differ_) { number_as_machine(); }
    for (auto const& [key, at] : seen) { numbers_[key] = all_[at].number; }
  }

  void number_as_machine() {
    for (auto const& each : all_) { next_ = std::max(next_, static_cast<int>(each.gpu) + 1); }
    for (auto each = all_.begin(); each != all_.end(); ++each) {
      auto const taken = std::any_of(all_.begin(), each,
                                     [&](auto const& other) { return other.gpu == each->gpu; });
      each->number = taken ? next_++ : static_cast<std::int32_t>(each->gpu);
    }
  }

  /// Notes a number that several processes use, of which one is in no table of devices: it may mean
  /// another GPU there.
  void note_shared() {
    if (gpus_ < 2) { return; }
    std::map<std::int32_t, std::set<std::uint32_t>> users;
    each_device_table(in_.into, [&](auto const& rows) {
      device_place last{.device = -1};
      for (auto const& each : rows) {
        auto const& at = each.where;
        if (at.device == last.device && at.process == last.process) { continue; }
        users[at.device].insert(at.process);
        last = at;
      }
    });
    for (auto const& [device, processes] : users) {
      auto const told = [&, number = device](auto of) { return numbers_.contains({of, number}); };
      if (processes.size() < 2 || std::ranges::all_of(processes, told)) { continue; }
      in_.into.notes.emplace_back("devices",
                                  concat({"which GPU each of ", std::to_string(processes.size()),
                                          " processes calls device ", std::to_string(device),
                                          " is not told, and they count as one"}));
    }
  }

  // Kernels have CUDA's number of a device. The description may have another number.
  void add_device(nsys::gpu_row const& row) {
    auto gpu = row.device;
    auto const number = static_cast<std::int32_t>(row.id);
    gpu.id = row.cuda_id.value_or(number);
    gpu.max_threads_per_sm = row.threads_per_sm.value_or(gpu.warp_size * row.warps_per_sm);
    auto& devices = in_.into.devices;
    if (in_.ours) { return devices.push_back(gpu); }
    if (gpu.sm_count == 0) { return; }  // a display adapter of another maker
    ++gpus_;
    auto const described = [&](std::int32_t id) {
      return std::ranges::find(devices, id, &device_description::id) != devices.end();
    };
    if (all_.empty() && described(gpu.id)) { gpu.id = number; }
    if (all_.empty() && !described(gpu.id)) { devices.push_back(gpu); }
    for (auto const& each : all_) {
      if (each.gpu != row.id || described(each.number)) { continue; }
      gpu.id = each.number;
      devices.push_back(gpu);
    }
  }

  open_export& in_;
  std::vector<physical> all_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int32_t> numbers_;
  std::int32_t next_ = 0;
  int gpus_ = 0;         ///< of the machine
  bool differ_ = false;  ///< processes number their devices differently
};

}  // namespace assay::trace
