// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading the JSON that `write_chrome` wrote; needs nlohmann_json.
#pragma once

#include <assay/chrome/json_values.hpp>
#include <assay/chrome/labels.hpp>
#include <assay/core/file.hpp>
#include <assay/trace/model.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// Makes a model of the parts of a JSON trace, as they come.
class chrome_reader {
 public:
  using json = chrome::json;

  /// The callback of the parser: takes each part as it is complete, and lets it go.
  bool take(int depth, json::parse_event_t what, json& part) {
    if (depth == 1 && what == json::parse_event_t::key) { section_ = part.get<std::string>(); }
    if (what != json::parse_event_t::object_end) { return true; }
    if (depth == 1 && section_ == "assay") { take_rest(part); }
    if (depth == 2 && section_ == "deviceProperties") { take_device(part); }
    if (depth == 2 && section_ == "traceEvents") {
      if (!begun_) { throw std::invalid_argument(foreign); }
      take_event(part);
    }
    return depth != 2 || section_ == "assay";
  }

  model finish() && {
    if (!begun_) { throw std::invalid_argument(foreign); }
    return std::move(into_);
  }

 private:
  static constexpr auto foreign =
      "it is no trace of assay: no object `assay` stands before its events";

  string_id intern(json const& of, char const* name) {
    return into_.strings.intern(chrome::text(of, name));
  }
  string_id string_at(json const& number) const {
    return strings_.at(chrome::whole<std::size_t>(number));
  }

  // Three decimals of microseconds: nearest nanoseconds, as far as doubles tell them.
  static std::int64_t nanoseconds(json const& value) {
    if (!value.is_number()) {
      throw std::invalid_argument("a time is no number: " + chrome::short_text(value));
    }
    auto const time = value.get<double>() * 1000;
    if (!(std::abs(time) < 0x1p61)) {
      throw std::invalid_argument("a time is out of range: " + chrome::short_text(value));
    }
    return std::llround(time);
  }
  std::int64_t moment(json const& of) const { return nanoseconds(of.at("ts")) + base_; }
  span when(json const& of) const {
    auto const begin = moment(of);
    auto const length = nanoseconds(of.at("dur"));
    if (length < 0 || length > std::int64_t{1} << 53U) {
      throw std::invalid_argument("a duration is out of range: " + std::to_string(length) + " ns");
    }
    return {begin, begin + length};
  }
  static device_place place(json const& args) {
    auto const* const name = args.contains("waiting stream") ? "waiting stream" : "stream";
    auto const stream = chrome::get<std::int64_t>(args, name);
    return {.device = chrome::get<std::int32_t>(args, "device"),
            .context = chrome::get<std::uint32_t>(args, "context"),
            .green_context = chrome::value_or<std::uint32_t>(args, "green context", 0),
            .stream = stream == -1 ? 0xffff'ffff : chrome::whole<std::uint32_t>(args.at(name)),
            .correlation = chrome::get<std::uint32_t>(args, "correlation"),
            .process = chrome::value_or<std::uint32_t>(args, "process", 0),
            .graph_node = chrome::value_or<std::uint64_t>(args, "graph node id", 0)};
  }
  static thread_key thread(json const& event, json const& args) {
    auto const other = args.find("thread");
    return {chrome::get<std::uint32_t>(event, "pid"), other == args.end()
                                                          ? chrome::get<std::uint32_t>(event, "tid")
                                                          : chrome::whole<std::uint32_t>(*other)};
  }
  static dimensions triple(json const& args, char const* name) {
    auto const found = args.find(name);
    if (found == args.end()) { return {}; }
    return {chrome::whole<std::uint32_t>(found->at(0)), chrome::whole<std::uint32_t>(found->at(1)),
            chrome::whole<std::uint32_t>(found->at(2))};
  }

  void take_rest(json const& rest) {
    if (auto const format = chrome::get<int>(rest, "format"); format != chrome::format) {
      throw std::invalid_argument("its format is " + std::to_string(format) +
                                  ", this program reads " + std::to_string(chrome::format));
    }
    constexpr auto farthest = std::int64_t{1} << 61U;
    base_ = chrome::get<std::int64_t>(rest, "base_ns");
    if (base_ <= -farthest || base_ >= farthest) {
      throw std::invalid_argument("base_ns is out of range");
    }
    into_.source = chrome::text(rest, "source");
    into_.epoch_ns = chrome::get<std::int64_t>(rest, "epoch_ns");
    auto const& window = rest.at("window");
    into_.window = {chrome::whole<std::int64_t>(window.at(0)),
                    chrome::whole<std::int64_t>(window.at(1))};
    auto const& lost = rest.at("lost");
    auto* const counts = &into_.lost;
    auto at = std::size_t{0};
    for (auto* const count : {&counts->dropped, &counts->zero_stamped, &counts->out_of_window,
                              &counts->unmatched, &counts->unnamed}) {
      *count = chrome::whole<std::uint64_t>(lost.at(at++));
    }
    for (auto const& note : rest.at("notes")) {
      into_.notes.emplace_back(note.at(0).get<std::string>(), note.at(1).get<std::string>());
    }
    for (auto const& each : rest.at("strings")) {
      strings_.push_back(into_.strings.intern(each.get_ref<std::string const&>()));
    }
    for (auto const& each : rest.at("threads")) {
      into_.threads.push_back(
          {{chrome::whole<std::uint32_t>(each.at(0)), chrome::whole<std::uint32_t>(each.at(1))},
           string_at(each.at(2))});
    }
    begun_ = true;
  }

  void take_device(json const& from) {
    auto& device = into_.devices.emplace_back();
    device.id = chrome::get<std::int32_t>(from, "id");
    device.name = chrome::text(from, "name");
    chrome::each_property(
        device, [&]<class T>(char const* name, T& value) { value = chrome::get<T>(from, name); });
  }

  void take_event(json const& event) {
    auto const& phase = chrome::text(event, "ph");
    if (phase == "C") {
      take_counter(event);
    } else if (phase == "X" || phase == "i") {
      auto const& category = chrome::text(event, "cat");
      auto const& args = event.at("args");
      if (category == "user_annotation") { return take_range(event, args, phase == "i"); }
      if (category == "cpu_instant_event") { return take_memory(event, args); }
      if (category == "overhead") { return take_overhead(event, args); }
      if (category == "kernel") { return take_kernel(event, args); }
      auto const layer = std::find(chrome::layers.begin(), chrome::layers.end(), category);
      if (layer != chrome::layers.end()) {
        return take_call(event, args, static_cast<api>(layer - chrome::layers.begin()));
      }
      take_other_work(category, event, args);
    }
  }

  void take_call(json const& event, json const& args, api layer) {
    api_call call;
    call.when = when(event);
    call.thread = thread(event, args);
    call.name = args.contains("function") ? intern(args, "function") : intern(event, "name");
    call.layer = layer;
    call.correlation = chrome::get<std::uint32_t>(args, "correlation");
    call.result = chrome::value_or<std::int32_t>(args, "result", 0);
    into_.calls.push_back(call);
  }

  void take_range(json const& event, json const& args, bool mark) {
    range_record range;
    if (mark) {
      range.style = range_style::mark;
      range.when.begin = range.when.end = moment(event);
    } else {
      range.style = args.contains("style") ? range_style::start_end : range_style::push_pop;
      range.when = when(event);
    }
    range.thread = range.end_thread = thread(event, args);
    if (auto const other = args.find("end thread"); other != args.end()) {
      range.end_thread = {chrome::whole<std::uint32_t>(other->at(0)),
                          chrome::whole<std::uint32_t>(other->at(1))};
    }
    range.domain = intern(args, "domain");
    range.name = intern(event, "name");
    range.ended = !args.contains("ended");
    range.category = chrome::value_or<std::uint32_t>(args, "category", 0);
    range.argb = chrome::value_or<std::uint32_t>(args, "argb", 0);
    range.payload = chrome::value_or<std::uint64_t>(args, "payload", 0);
    into_.ranges.push_back(range);
  }

  void take_kernel(json const& event, json const& args) {
    kernel_run run;
    run.when = when(event);
    run.where = place(args);
    run.name = intern(event, "name");
    if (auto const names = args.find("names"); names != args.end()) {
      run.short_name = string_at(names->at(0));
      run.mangled_name = string_at(names->at(1));
    }
    run.grid = triple(args, "grid");
    run.block = triple(args, "block");
    run.cluster = triple(args, "cluster");
    run.registers_per_thread = chrome::get<std::uint32_t>(args, "registers per thread");
    run.dynamic_shared_bytes = chrome::value_or<std::uint32_t>(args, "dynamic shared memory", 0);
    auto const shared = chrome::get<std::uint64_t>(args, "shared memory");
    run.static_shared_bytes = static_cast<std::uint32_t>(
        shared - std::min<std::uint64_t>(shared, run.dynamic_shared_bytes));
    run.local_bytes_per_thread =
        chrome::value_or<std::uint32_t>(args, "local memory per thread", 0);
    run.graph = chrome::value_or<std::uint32_t>(args, "graph id", 0);
    into_.kernels.push_back(run);
  }

  void take_other_work(std::string const& category, json const& event, json const& args) {
    if (category == "gpu_memcpy") {
      auto const& kinds = args.at("kinds");
      into_.copies.push_back(
          {.when = when(event),
           .where = place(args),
           .bytes = chrome::get<std::uint64_t>(args, "bytes"),
           .kind = chrome::kind(kinds.at(0), copy_kind::unified_device_to_device),
           .from = chrome::kind(kinds.at(1), memory_kind::unknown),
           .to = chrome::kind(kinds.at(2), memory_kind::unknown),
           .from_device = chrome::value_or<std::int32_t>(args, "from device", -1),
           .to_device = chrome::value_or<std::int32_t>(args, "to device", -1)});
    } else if (category == "gpu_memset") {
      into_.sets.push_back({.when = when(event),
                            .where = place(args),
                            .bytes = chrome::get<std::uint64_t>(args, "bytes"),
                            .value = chrome::get<std::uint32_t>(args, "value"),
                            .kind = chrome::kind(args.at("kind"), memory_kind::unknown)});
    } else if (category == "gpu_graph") {
      into_.graph_launches.push_back(
          {.when = when(event),
           .where = place(args),
           .graph = chrome::get<std::uint32_t>(args, "graph id"),
           .executable = chrome::get<std::uint32_t>(args, "graph exec id")});
    } else if (category == "cuda_sync") {
      auto const name = std::find(chrome::sync_names.begin(), chrome::sync_names.end(),
                                  chrome::text(event, "name"));
      if (name == chrome::sync_names.end()) {
        throw std::invalid_argument("an unknown kind of wait: " +
                                    chrome::short_text(event.at("name")));
      }
      into_.synchronizations.push_back(
          {.when = when(event),
           .where = place(args),
           .kind = static_cast<sync_kind>(name - chrome::sync_names.begin()),
           .event = chrome::value_or<std::uint32_t>(args, "event", 0)});
    }
  }

  void take_overhead(json const& event, json const& args) {
    into_.overheads.push_back({.when = when(event),
                               .thread = {chrome::get<std::uint32_t>(args, "process"),
                                          chrome::get<std::uint32_t>(args, "thread")},
                               .name = intern(event, "name"),
                               .correlation = chrome::get<std::uint32_t>(args, "correlation")});
  }

  void take_counter(json const& event) {
    auto const& value = event.at("args").at("value");
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    auto const number = value.is_null()   ? std::numeric_limits<double>::quiet_NaN()
                        : value == "inf"  ? infinity
                        : value == "-inf" ? -infinity
                                          : value.get<double>();
    into_.counters.push_back({.at = moment(event),
                              .device = chrome::get<std::int32_t>(event, "device"),
                              .name = intern(event, "name"),
                              .value = number});
  }

  void take_memory(json const& event, json const& args) {
    into_.memory.push_back(
        {.at = moment(event),
         .where = place(args),
         .thread = thread(event, args),
         .operation = args.at("released").get<bool>() ? memory_operation::release
                                                      : memory_operation::allocate,
         .kind = chrome::kind(args.at("kind"), memory_kind::unknown),
         .address = chrome::get<std::uint64_t>(args, "Addr"),
         .bytes = chrome::get<std::uint64_t>(args, "bytes"),
         .pool = chrome::value_or<std::uint64_t>(args, "pool", 0),
         .pool_used_bytes = chrome::value_or<std::uint64_t>(args, "pool used bytes", 0),
         .pool_reserved_bytes = chrome::value_or<std::uint64_t>(args, "pool reserved bytes", 0)});
  }

  model into_;
  std::vector<string_id> strings_;
  std::string section_;
  std::int64_t base_ = 0;
  bool begun_ = false;
};

/// The trace in a file of `write_chrome`, exactly as it was written. Throws `read_error` with the
/// path and the reason for what is missing, truncated, no JSON, or JSON of others.
inline model read_chrome(std::filesystem::path const& path) {
  (void)require_readable(path);
  std::ifstream in{path, std::ios::binary};
  try {
    chrome_reader reader;
    auto const taken = nlohmann::json::parse(
        in, [&](int depth, nlohmann::json::parse_event_t what, nlohmann::json& part) {
          return reader.take(depth, what, part);
        });
    return std::move(reader).finish();
  } catch (nlohmann::json::exception const& error) {
    throw read_error(path, error.what());
  } catch (std::invalid_argument const& error) {
    throw read_error(path, error.what());
  } catch (std::out_of_range const&) { throw read_error(path, "a name that it does not have"); }
}

}  // namespace assay::trace
