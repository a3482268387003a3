// SPDX-License-Identifier: Apache-2.0
#include "overlap_rows.hpp"

#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/table.hpp>
#include <cmath>
#include <cstdint>
#include <sstream>

namespace assay::examples {

std::string limit_of(overlap_row const& row) {
  auto const milliseconds = [](double seconds) { return report::duration(seconds); };
  auto const gap = row.seconds - row.bound_seconds();
  bool const kernel = row.kernel_seconds >= row.link_seconds;
  std::string const serial = row.kernel_seconds > row.serial_seconds / 2
                                 ? "the kernel, with no copy beside it"
                                 : "the link, one way at a time: the other way and the kernel wait";
  if (row.transfer == "transfer::pageable") {
    return row.seconds < 1.2 * row.serial_seconds
               ? serial
               : "host copy: the driver moves pageable memory through buffers of its own";
  }
  if (row.transfer == "transfer::staged") {
    return row.seconds < 1.15 * row.serial_seconds
               ? serial
               : "host copy: threads move the data through bounce buffers";
  }
  if (row.transfer == "transfer::mapped") {
    return row.seconds < 1.1 * row.bound_seconds()
               ? (kernel ? "the kernel" : "the link, both ways at once")
               : "the kernel's own loads and stores over the link";
  }
  if (row.transfer == "transfer::pinned") { return serial; }
  if (gap <= 0.06 * row.bound_seconds()) {
    return kernel ? "the kernel" : "the link, both ways at once";
  }
  auto const chunks = static_cast<double>(std::max<std::size_t>(1, row.chunks));
  auto const filling = (row.serial_seconds - row.bound_seconds()) / chunks;
  auto const overhead = chunks * row.chunk_seconds;
  if (gap > 2 * (filling + overhead)) { return "starting: events and launches of a short job"; }
  return overhead > filling ? "chunk overhead: " + milliseconds(overhead) + " of copies starting"
                            : "filling and draining: the first and the last chunk go alone";
}

measure::answer overlap_agreement(std::vector<overlap_row> const& rows,
                                  std::string const& no_timeline) {
  measure::answer found{"Is the overlap by events that of the timeline, within 2 %?", {}};
  if (!no_timeline.empty()) { found.lines.push_back("There is no timeline: " + no_timeline); }
  int judged = 0;
  int within = 0;
  overlap_row const* worst = nullptr;
  for (auto const& row : rows) {
    auto const link_chunk =
        row.link_seconds / static_cast<double>(std::max<std::size_t>(1, row.chunks));
    if (std::isnan(row.overlap_difference()) || link_chunk < 0.3e-3) { continue; }
    ++judged;
    within += std::abs(row.overlap_difference()) <= 0.02;
    if (worst == nullptr ||
        std::abs(row.overlap_difference()) > std::abs(worst->overlap_difference())) {
      worst = &row;
    }
  }
  if (worst == nullptr) { return found; }
  found.lines.push_back(std::to_string(within) + " of " + std::to_string(judged) +
                        " rows with chunks of 0.3 ms and more agree; the largest difference is " +
                        report::signed_percent(worst->overlap_difference(), 1) + " % (" +
                        worst->transfer + ", " + report::byte_size(worst->bytes) + " each way)");
  return found;
}

double break_even(std::vector<overlap_row> const& rows, std::string_view a, std::string_view b) {
  double from = 0;
  auto sizes = std::vector<double>{};
  for (auto const& row : rows) { sizes.push_back(row.bytes); }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  auto const seconds = [&](std::string_view name, double bytes) {
    for (auto const& row : rows) {
      if (row.transfer == name && row.bytes == bytes) { return row.seconds; }
    }
    return std::numeric_limits<double>::quiet_NaN();
  };
  for (double const bytes : sizes) {
    auto const mine = seconds(a, bytes);
    auto const other = seconds(b, bytes);
    if (std::isnan(mine) || std::isnan(other)) { continue; }
    if (mine >= other) {
      from = 0;
    } else if (from == 0) {
      from = bytes;
    }
  }
  return from;
}

double uses_to_pay(overlap_row const& row, overlap_row const& fast, double lock_seconds_per_gib) {
  auto const gain = row.seconds - fast.seconds;
  if (gain <= 0) { return 0; }
  return std::max(1.0, std::ceil(lock_seconds_per_gib * 2 * row.bytes / 0x1p30 / gain));
}

std::vector<std::string> break_even_lines(std::vector<overlap_row> const& rows,
                                          pin_costs const& pin) {
  std::vector<std::string> lines;
  auto const from = [&](std::string_view a, std::string_view b) {
    auto const size = break_even(rows, a, b);
    lines.push_back(std::string{a} + " is faster than " + std::string{b} +
                    (size > 0 ? " from " + report::byte_size(size) + " each way on"
                              : " at no size up to the largest measured"));
  };
  from("transfer::staged", "transfer::pageable");
  from("transfer::overlapped", "transfer::mapped");
  lines.back() +=
      "; below, a kernel that reads each byte once does better with no copies that have to start";
  auto const find = [&](std::string_view name, double bytes) -> overlap_row const* {
    for (auto const& row : rows) {
      if (row.transfer == name && row.bytes == bytes) { return &row; }
    }
    return nullptr;
  };
  double largest = 0;
  for (auto const& row : rows) { largest = std::max(largest, row.bytes); }
  for (double bytes = 0x1p20; bytes <= largest; bytes *= 16) {
    auto const* const fast = find("transfer::overlapped", bytes);
    if (fast == nullptr) { continue; }
    for (auto const* name : {"transfer::pageable", "transfer::staged"}) {
      auto const* const slow = find(name, bytes);
      if (slow == nullptr) { continue; }
      auto const registered = uses_to_pay(*slow, *fast, pin.registering);
      auto const allocated = uses_to_pay(*slow, *fast, pin.allocating);
      auto text = report::byte_size(bytes) + " each way, against " + name + ": ";
      if (registered == 0) {
        lines.push_back(text + "page-locking never pays");
        continue;
      }
      lines.push_back(text + "registering the arrays once pays from use " +
                      report::fixed(registered, 0) + " on, allocating them page-locked from use " +
                      report::fixed(allocated, 0) + " on");
    }
  }
  return lines;
}

void print_rows(std::ostream& out, std::vector<overlap_row> const& rows) {
  report::table table{{"each way, transfer", "time", "each way at", "of the bound", "overlap",
                       "by timeline", "what limits it"},
                      {6}};
  double last = -1;
  for (auto const& row : rows) {
    if (row.bytes != last && last >= 0) { table.add({""}); }
    last = row.bytes;
    table.add({report::byte_size(row.bytes) + "  " + row.transfer, report::duration(row.seconds),
               report::rate(row.bytes / row.seconds, "B"), report::percent(row.share(), 1),
               std::isnan(row.overlap) ? "-" : report::percent(row.overlap, 0),
               std::isnan(row.timeline_overlap)
                   ? "-"
                   : report::percent(row.timeline_overlap, 0) + " (" +
                         report::signed_percent(row.overlap_difference(), 1) + ")",
               limit_of(row)});
  }
  table.print(out, 140);
}

void print_sweep(std::ostream& out, std::vector<sweep_cell> const& cells, double bytes) {
  std::vector<int> streams;
  std::vector<int> chunks;
  for (auto const& cell : cells) {
    if (cell.bytes != bytes) { continue; }
    streams.push_back(cell.streams);
    chunks.push_back(cell.chunks);
  }
  for (auto* each : {&streams, &chunks}) {
    std::sort(each->begin(), each->end());
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  std::vector<std::string> head{"chunks \\ streams"};
  for (int const each : streams) { head.push_back(std::to_string(each)); }
  report::table table{head};
  for (int const row : chunks) {
    std::vector<std::string> line{std::to_string(row)};
    for (int const column : streams) {
      auto const found = std::find_if(cells.begin(), cells.end(), [&](sweep_cell const& cell) {
        return cell.bytes == bytes && cell.chunks == row && cell.streams == column;
      });
      line.push_back(found == cells.end() ? "" : report::percent(found->share(), 1));
    }
    table.add(line);
  }
  table.print(out);
}

sweep_cell const* best_cell(std::vector<sweep_cell> const& cells, double bytes) {
  sweep_cell const* best = nullptr;
  for (auto const& cell : cells) {
    if (cell.bytes != bytes) { continue; }
    if (best == nullptr || cell.seconds < best->seconds) { best = &cell; }
  }
  return best;
}

std::string rows_csv(std::vector<overlap_row> const& rows) {
  std::ostringstream out;
  out << "transfer,bytes_each_way,seconds,min_seconds,max_seconds,bound_seconds,link_seconds,"
         "kernel_seconds,serial_seconds,share_of_bound,overlap,timeline_overlap,traced_overlap,"
         "chunks,"
         "predicted_seconds,limit\n";
  out.precision(9);
  for (auto const& row : rows) {
    out << row.transfer << ',' << row.bytes << ',' << row.seconds << ',' << row.min_seconds << ','
        << row.max_seconds << ',' << row.bound_seconds() << ',' << row.link_seconds << ','
        << row.kernel_seconds << ',' << row.serial_seconds << ',' << row.share() << ',';
    for (double const each : {row.overlap, row.timeline_overlap, row.traced_overlap}) {
      if (!std::isnan(each)) { out << each; }
      out << ',';
    }
    out << row.chunks << ',' << row.predicted_seconds << ",\"" << limit_of(row) << "\"\n";
  }
  return out.str();
}

std::string sweep_csv(std::vector<sweep_cell> const& cells) {
  std::ostringstream out;
  out << "bytes_each_way,chunks,streams,seconds,bound_seconds,share_of_bound\n";
  out.precision(9);
  for (auto const& cell : cells) {
    out << cell.bytes << ',' << cell.chunks << ',' << cell.streams << ',' << cell.seconds << ','
        << cell.bound_seconds << ',' << cell.share() << '\n';
  }
  return out.str();
}

report::document curves_json(std::vector<overlap_row> const& rows,
                             std::vector<sweep_cell> const& cells, pin_costs const& pin) {
  auto const known = [](double value) {
    return std::isnan(value) ? report::document(nullptr) : report::document(value);
  };
  auto transfers = report::document::array();
  for (auto const& row : rows) {
    transfers.push_back({{"transfer", row.transfer},
                         {"bytes_each_way", row.bytes},
                         {"seconds", row.seconds},
                         {"min_seconds", row.min_seconds},
                         {"max_seconds", row.max_seconds},
                         {"bound_seconds", row.bound_seconds()},
                         {"link_seconds", row.link_seconds},
                         {"kernel_seconds", row.kernel_seconds},
                         {"serial_seconds", row.serial_seconds},
                         {"share_of_bound", row.share()},
                         {"overlap", known(row.overlap)},
                         {"timeline_overlap", known(row.timeline_overlap)},
                         {"traced_overlap", known(row.traced_overlap)},
                         {"chunks", row.chunks},
                         {"predicted_seconds", row.predicted_seconds},
                         {"limit", limit_of(row)},
                         {"why", row.why}});
  }
  auto sweep = report::document::array();
  for (auto const& cell : cells) {
    sweep.push_back({{"bytes_each_way", cell.bytes},
                     {"chunks", cell.chunks},
                     {"streams", cell.streams},
                     {"seconds", cell.seconds},
                     {"share_of_bound", cell.share()}});
  }
  return {{"schema", "assay.overlap"},
          {"schema_version", 1},
          {"pinning",
           {{"register_seconds_per_gib", pin.registering},
            {"allocate_seconds_per_gib", pin.allocating}}},
          {"transfers", transfers},
          {"sweep", sweep}};
}

}  // namespace assay::examples
