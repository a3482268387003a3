# SPDX-License-Identifier: Apache-2.0
"""Fills the generated parts of README.md and docs/ from the committed results; --check only compares.

A part stands between `<!-- generated: NAME ARGUMENTS -->` and `<!-- end of NAME -->`:
  report FILE SECTION...   sections of benchmarks/results/FILE.txt, a report as the program printed it;
                           `head` is its first paragraph, others are named by how their first line begins
  excerpt FILE COUNT TEXT  COUNT lines of that file, from the first line that begins with TEXT
  source FILE [PART]       the program examples/FILE, which the build compiles, or the lines of it between
                           `// docs: PART` and `// docs: end`; a FILE with a folder is taken from the root
  figures [FILE...]        tables of FIGURES below, from benchmarks/results/*.json; of these results, or of all
  headline                 the table HEADLINE below: a few figures, each with its device, date, commit and age
  compilers                the tables of benchmarks/results/compilers.json, which cmake/matrix.sh writes
  reason FILE              a table and a paragraph from benchmarks/results/FILE.json, a result of all_reduce_reason
  judges FILE              tables of what judges said, from benchmarks/results/FILE.json, a result of benchmarks/judges

The age of a figure is the number of commits since its first measurement. --check leaves ages alone, since every
commit changes them.
"""
import argparse
import difflib
import json
import operator
import pathlib
import re
import subprocess
import sys
import textwrap
import typing

root = pathlib.Path(__file__).resolve().parent.parent

def documents():
    """Paths of all documents, relative to the root."""
    return ["README.md", *sorted(p.relative_to(root).as_posix() for p in (root / "docs").glob("*.md"))]


PART = re.compile(r"(<!-- generated: (\w+) ?(.*?) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
AGE = re.compile(r"(up to )?\d+ commits? old|age unknown")
NOT_THERE = "*not in this result*"
NOTHING_YET = "*No result is committed yet; `sh cmake/demo.sh` makes one.*\n"


def report(results, folder, name, *sections):
    path = results / f"{name}.txt"
    if not path.exists():
        return NOTHING_YET
    first, *rest = path.read_text().rstrip("\n").split("\n\n")
    chosen = []
    for section in sections:
        found = [first] if section == "head" else [p for p in rest if p.startswith(section)]
        if not found:
            sys.exit(f"{path} has no section that begins with `{section}`")
        chosen += found
    return "```\n" + "\n\n".join(chosen) + "\n```\n"


def excerpt(results, folder, name, count, *words):
    path = results / f"{name}.txt"
    if not path.exists():
        return NOTHING_YET
    lines = path.read_text().splitlines()
    start = next((n for n, line in enumerate(lines) if line.strip().startswith(" ".join(words))), None)
    if start is None:
        sys.exit(f"{path} has no line that begins with `{' '.join(words)}`")
    return "```\n" + textwrap.dedent("\n".join(lines[start:start + int(count)])) + "\n```\n"


def source(results, folder, name, part=None):
    file = root / name if "/" in name else root / "examples" / name
    lines = file.read_text().split("\n")[1:]  # without the licence
    marks = [n for n, line in enumerate(lines) if line.strip().startswith("// docs: ")]
    if part:
        first = next((n for n in marks if lines[n].strip() == f"// docs: {part}"), None)
        if first is None:
            sys.exit(f"{file} has no `// docs: {part}`")
        last = next(n for n in marks if n > first and lines[n].strip() == "// docs: end")
        lines = lines[first + 1:last] + [""]
    else:
        lines = [line for n, line in enumerate(lines) if n not in marks]
    # `c++` and not `cpp`: the test that compiles the code of documents need not compile it twice.
    return "```c++\n" + textwrap.dedent("\n".join(lines)) + "```\n"


def p50_of_rmm(pair, figures):
    """Of the same pair in RMM's pool."""
    return record(figures, ["pairs", {"resource": "rmm pool", "bytes": pair["bytes"], "threads": pair["threads"]},
                            "p50_ns"])


def beside_rmm(pair, figures):
    peer = p50_of_rmm(pair, figures)
    return f"p50 {pair['p50_ns']:,.0f} ns; RMM's pool {peer:,.0f} ns: {pair['p50_ns'] / peer:.3f}x"


class Bound(typing.NamedTuple):
    """What a target asks of a value of a record, or of its share of a whole: of another value of the record, or of what a
    function of the record and of all figures returns."""
    holds: typing.Callable
    limit: typing.Any
    path: tuple
    of: typing.Any

    def whole(self, found, figures):
        return self.of(found, figures) if callable(self.of) else found[self.of]

    def kept(self, found, figures):
        value = record(found, self.path)
        return self.holds(value / self.whole(found, figures) if self.of else value, self.limit)


def at_most(limit, *path, of=None):
    return Bound(operator.le, limit, path, of)


def at_least(limit, *path, of=None):
    return Bound(operator.ge, limit, path, of)


def exactly(value, *path):
    return Bound(operator.eq, value, path, None)


def reduce_time(us, ratio=None):
    """The target of an all-reduce and its bounds: a time, and how many times as long NCCL takes."""
    return reduce_target(f"<= {us} us", at_most(us, "ours_us"), ratio)


def reduce_rate(gigabytes, ratio=None, sign=">="):
    return reduce_target(f"{sign} {gigabytes} GB/s", at_least(gigabytes, "ours_busbw_gb_per_second"), ratio)


def reduce_target(text, bound, ratio):
    return (f"{text}, >= {ratio}x", bound, at_least(ratio, "over_better_nccl")) if ratio else (text, bound)


# The table of figures: what, target, result file, which record of it, how its value reads, and a bound for each part of
# the target. A value reads by a format for the record, or by a function of it and of all figures.
# A record is found by a path through objects; in a list it is the one whose fields are as named.
LARGE = {"type": "int32", "rows": 2**28}
RANDOM_SIZES = {number: [f"{number} of at most {size}" for size in ("1 MiB", "4 MiB", "64 MiB", "256 MiB", "1 GiB", "4 GiB")]
                for number in (1000, 10000)}
FIGURES = [
    ("`null_cast_fused`, 2^28 rows", ">= 93 % of `cudaMemcpy`", "null_cast",
     ["kernels", {"kernel": "null_cast_fused", **LARGE}], "{share_of_memcpy:.1%}",
     at_least(0.93, "share_of_memcpy")),
    *((f"`{kernel}`, 2^28 rows", ">= 90 % of `cudaMemcpy`", "null_cast",
       ["kernels", {"kernel": kernel, **LARGE}], "{share_of_memcpy:.1%}", at_least(0.9, "share_of_memcpy"))
      for kernel in ("is_valid", "copy_if_else", "cast")),
    ("full batch, 4 x 100 items, pool, concurrent", "<= 1.15x its kernels alone", "batch",
     ["full_batch"], "{wall_over_kernels_alone:.2f}x", at_most(1.15, "wall_over_kernels_alone")),
    ("the same, against four lanes of graphs", "", "batch",
     ["full_batch"], "{wall_over_four_lanes_at_once:.2f}x"),
    ("one verdict on a 1 ms batch, 8 epochs", "<= 2 s", "batch", ["verdict"], "{seconds:.2f} s",
     at_most(2, "seconds")),
    ("comparisons of equal work on the default path, 14 kinds", "<= 38 false of 1,000", "false_alarms",
     ["as_used", "total"],
     "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; {median_seconds_per_verdict:.2f} s",
     at_most(38 / 1000, "false_alarms", of="trials")),
    *((f"the same, {name}", target, "false_alarms", ["as_used", "kinds", kind],
       "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; "
       "{median_seconds_per_verdict:.2f} s a verdict", *bounds)
      for kind, name, target, *bounds in (
          ("gemm_2048", "GEMM 2048^3 of 24 us", "<= 0.5 s", at_most(0.5, "median_seconds_per_verdict")),
          ("copy_beyond_l2", "a copy of 70 to 100 us", "<= 0.5 s", at_most(0.5, "median_seconds_per_verdict")),
          ("short_kernel", "a kernel of 2 to 3 us", "<= 25 % INCONCLUSIVE",
           at_most(0.25, "inconclusive", of="trials")),
          ("allocate_launch_free", "allocate + launch + free", "<= 25 % INCONCLUSIVE",
           at_most(0.25, "inconclusive", of="trials")),
          ("null_cast_pool_concurrent", "`null_cast` with `mr::pool`, concurrent", ""),
          ("pageable_copy", "a pageable copy of 4 MiB", "<= 5 % INCONCLUSIVE",
           at_most(0.05, "inconclusive", of="trials")),
          ("null_cast_pool_serialized", "`null_cast` with `mr::pool`, serialized", "<= 5 % INCONCLUSIVE",
           at_most(0.05, "inconclusive", of="trials")),
          ("null_cast_async_serialized", "`null_cast` with `mr::async`, serialized", "<= 5 % INCONCLUSIVE",
           at_most(0.05, "inconclusive", of="trials")))),
    ("the same while another process loads the GPU in random bursts", "<= 4 false of 200", "false_alarms", ["bursts", "total"],
     "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN",
     at_most(4 / 200, "false_alarms", of="trials")),
    ("two processes of one build", "<= 5 false of 100", "false_alarms", ["processes", "total"],
     "{false_alarms} false of {trials}; {median_seconds_per_verdict:.1f} s a verdict",
     at_most(5 / 100, "false_alarms", of="trials")),
    ("comparisons of equal work by mean times, 14 kinds", "<= 2.5 % false", "false_alarms_of_means", ["as_used", "total"],
     "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; {median_seconds_per_verdict:.2f} s",
     at_most(0.025, "false_alarms", of="trials")),
    ("1 launch in 5, 7, 9 or 20 takes three times as long, launches of 10 us, 100 us and 1 ms", "all SLOWER, truth in >= 10 of 12",
     "plain_callables", ["slow_launches", "total"], "{slower} of {trials} SLOWER, truth in {covered} intervals",
     at_least(10, "covered"), at_least(12, "slower")),
    ("equal work, plain callables over buffers of their own, 1 to 256 MiB", "<= 5 false of 112, >= 60 decided",
     "plain_callables", ["own_buffers", "total"],
     "{false_alarms} false of {trials}; {equivalent} EQUIVALENT, {unproven} UNPROVEN; {median_seconds_per_verdict:.2f} s",
     at_most(5, "false_alarms"), at_least(60, "equivalent")),
    ("kernels without work", "0 false of 16", "plain_callables", ["without_work", "total"],
     "{false_alarms} false of {trials}; {unproven} UNPROVEN", exactly(0, "false_alarms")),
    *((f"equal plain host calls of {name}, two cores that builds keep busy", "<= 9 false, >= 80 of 100 decided",
       "plain_host_calls", [f"equal, {name}"],
       "{false_alarms} false of {trials}; {equivalent} EQUIVALENT, {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN",
       at_most(9, "false_alarms"), at_least(80, "equivalent")) for name in ("4 us", "1 ms")),
    *((f"host calls, {name}", "0 false of 16", "plain_host_calls", [name],
       "{false_alarms} false of {trials}; {unproven} UNPROVEN", exactly(0, "false_alarms"))
      for name in ("no work", "removed work", "work of 3 ns")),
    ("equal work with a confounder: placement, warm cache, first touch", "<= 5 % false", "confounders",
     ["factories", "total"], "{false_alarms} false of {trials}", at_most(0.05, "false_alarms", of="trials")),
    *((f"false alarms of comparisons of an all-reduce with itself, 2 GPUs, `{how}`", "<= 7.5 %", "collective_false_alarms",
       ["renewed", "kinds", how],
       "{false_alarms} of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; {median_seconds_per_verdict:.2f} s",
       at_most(0.075, "false_alarms", of="trials"))
      for how in ("lamport_push", "fifo_one_shot", "fifo_two_shot", "pull", "two_shot")),
    *((f"real slow-down of {name} found, with `run_until_sign`", ">= 90 %", "detection", ["slow_downs", "found", {"name": kind}],
       "{found} of {trials}, truth in {coverage:.1%} of intervals, {median_seconds_per_verdict:.2f} s a verdict",
       at_least(0.9, "found", of="trials"))
      for kind, name in (("copy_40us", "0.3 % of a copy of 40 us"), ("copy_200us", "0.2 % of a copy of 200 us"))),
    *((f"the same of {name}, on an H200", ">= 90 %", "detection_h200", ["slow_downs", "found", {"name": kind}],
       "{found} of {trials}, truth in {coverage:.1%} of intervals, {median_seconds_per_verdict:.2f} s a verdict",
       at_least(0.9, "found", of="trials"))
      for kind, name in (("copy_40us", "0.3 % of a copy of 40 us"), ("copy_200us", "0.2 % of a copy of 200 us"))),
    ("real slow-down of 1 % between two processes found", ">= 90 %", "detection",
     ["builds", "found", {"name": "copy_100us_two_builds"}],
     "{found} of {trials}, truth in {coverage:.1%} of intervals, {median_seconds_per_verdict:.1f} s a verdict",
     at_least(0.9, "found", of="trials")),
    *((f"`mr::pool`, pair, {name}, {threads} thread{'s' * (threads > 1)}", target, "memory_pool",
       ["pairs", {"resource": "mr::pool", "bytes": size, "threads": threads}], beside_rmm,
       at_most(limit, "p50_ns", of=p50_of_rmm))
      for threads, target, limit in ((1, "<= 1.0x RMM's pool", 1.0), (16, "<= 0.1x RMM's pool", 0.1))
      for name, size in (("4 KiB", 4096), ("21 MB", 21474832))),
    *((f"the same with `trust_handles`, {name}, {threads} thread{'s' * (threads > 1)}", f"<= {limit} ns", "memory_pool",
       ["pairs", {"resource": "mr::pool, trust_handles", "bytes": size, "threads": threads}],
       "{p50_ns:.0f} ns, p99 {p99_ns:.0f} ns", at_most(limit, "p50_ns"))
      for threads, limit in ((1, 40), (16, 60))
      for name, size in (("4 KiB", 4096), ("21 MB", 21474832))),
    *((f"(peer) {peer}, pair, 21 MB, {threads} thread{'s' * (threads > 1)}", "", "memory_pool",
       ["pairs", {"resource": peer, "bytes": 21474832, "threads": threads}],
       "p50 {p50_ns:,.0f} ns, mean {mean_ns:,.0f} ns")
      for peer in ("mr::async", "cuda::device_memory_pool", "rmm arena") for threads in (1, 16)),
    ("block taken from another stream", "<= 2 us", "memory_pool", ["steal_with_event"],
     "{p50_ns:,.0f} ns", at_most(2000, "p50_ns")),
    ("reserved over peak live beyond stated caps, mixed trace", "<= 1.25x", "memory_pool",
     ["traces", {"resource": "mr::pool{0 bytes, stream_cache_bytes=64 MiB}"}], "{ratio_beyond_kept:.2f}x",
     at_most(1.25, "ratio_beyond_kept")),
    *((f"{what}, {parameters}, {state}", f"<= {limit:.2f}x the best peer", "memory_workloads",
       ["rows", {"program": program, "parameters": parameters, "state": state}],
       "{to_best_peer:.2f}x: {ms[mr::pool]:,.2f} ms, with `trust_handles` {ms[mr::pool trusted]:,.2f} ms; best is {best_peer}",
       at_most(limit, "to_best_peer"))
      for what, program, limit, states, all_parameters in (
          ("RMM's random sizes", "random_allocations", 1.00, ("default stream",), RANDOM_SIZES[1000]),
          *(("random sizes", "random_allocations", 1.00, ("reserved", "empty"), RANDOM_SIZES[number])
            for number in (1000, 10000)),
          ("vectors", "vectors", 1.02, ("reserved", "empty"),
           [f"{4 * 10**power} bytes, 20 times" for power in range(3, 10)]),
          ("streams", "streams", 1.00, ("reserved",), [f"512 kernels on {count}" for count in (1, 2, 4)]),
          ("replay", "replay", 1.00, ("reserved", "empty"), ["12000 events, 4 threads"]))
      for state in states for parameters in all_parameters),
    *((f"first block of {name}, empty, `{resource}`", "", "memory_workloads",
       ["first_block", {"bytes": size, "resource": resource}], "{us:,.0f} us")
      for name, size in (("4 kB", 4000), ("4 MB", 4000000))
      for resource in ("mr::pool", "mr::pool, cudaMalloc", "mr::pool, steps of 2 MiB", "rmm pool")),
    ("reserved over live, 1,500 threads with one pair of 32 MiB each", "<= 2x", "memory_workloads", ["thread_churn"],
     "{to_live:.2f}x", at_most(2, "to_live")),
    ("longest allocation from the heap beside trims of another thread", "<= 100 us", "memory_workloads",
     ["beside_trim"], "{longest_us:,.0f} us; p50 {p50_us:.2f} us, p99.9 {p999_us:.1f} us",
     at_most(100, "longest_us")),
    *((f"`transfer::overlapped`, {name} each way", f">= {share} % of the bound", "overlap",
       ["overlapped", {"mib_to_host": mib}],
       "{share_of_bound:.1%}; T(N) allows {closed_form_share:.1%}", at_least(share / 100, "share_of_bound"))
      for name, mib, share in (("1 GiB", 1024, 97), ("512 MiB", 512, 97), ("256 MiB", 256, 95),
                               ("64 MiB", 64, 90), ("16 MiB", 16, 82))),
    *((f"picked chunks and streams, {name}", "within 2 % of the best of the grid", "overlap",
       ["grid", {"mib": mib}], "{picked_over_best:.3f}x its time", at_most(1.02, "picked_over_best"))
      for name, mib in (("16 MiB", 16), ("64 MiB", 64), ("512 MiB", 512))),
    ("`transfer::overlapped`, a kernel of 3.5 times the link's time, 256 MiB", ">= 95 % of the bound", "overlap",
     ["other_shapes", {"shape": "kernel-bound"}], "{share_of_bound:.1%}", at_least(0.95, "share_of_bound")),
    *((f"against four streams of equal chunks, {name}", f">= {ratio:.2f}x", "overlap",
       ["overlapped", {"mib_to_host": mib}], "{over_textbook:.2f}x", at_least(ratio, "over_textbook"))
      for name, mib, ratio in (("64 MiB", 64, 1.10), ("1 GiB", 1024, 1.03))),
    *((f"`transfer::staged` {words}, 1 GiB", targets, "overlap",
       ["staged", {"direction": direction, "mib": 1024}],
       "{share_of_limit:.1%}, {over_pageable:.2f}x", *bounds)
      for words, direction, targets, *bounds in (
          ("to the device", "to_device", ">= 90 % of the slower of pinned link and host memcpy, >= 2.5x pageable",
           at_least(0.9, "share_of_limit"), at_least(2.5, "over_pageable")),
          ("to the host", "to_host", ">= 1.3x pageable", at_least(1.3, "over_pageable")))),
    *((f"`transfer::pinned` {words}, 1 GiB", ">= 99 % of one `cudaMemcpyAsync`", "overlap",
       ["one_way", {"direction": direction, "mib": 1024}], "{share_of_memcpy:.1%}", at_least(0.99, "share_of_memcpy"))
      for words, direction in (("to the device", "to_device"), ("to the host", "to_host"))),
    *((f"all-reduce of {name}, {gpus} GPUs", target, result, ["sizes", {"kib": kib}],
       "{ours_us:,.2f} us, {ours_busbw_gb_per_second:.0f} GB/s; NCCL without NVLS {nccl_default_us:,.2f} us, "
       "with windows {nccl_windows_us:,.2f} us: {over_better_nccl:.3f}x" + limit, *bounds)
      for gpus, result, limit, targets in (
          (2, "all_reduce", "; in place {ours_in_place_us:,.2f} us; the bytes alone {pushed_us:,.2f} us; NCCL over two processes "
           "{nccl_processes_us:,.2f} us",
           (reduce_time(3.3), reduce_time(3.3), reduce_time(4.0, 1.7), reduce_time(4.5, 1.8), reduce_time(6.5, 2),
            reduce_time(15, 1.7), reduce_time(50, 1.4), reduce_rate(352, 1.3), reduce_rate(352), reduce_rate(352, 1.08))),
          (4, "all_reduce_4_gpus", "",
           (reduce_time(3.8), reduce_time(3.8), reduce_time(5.5, 1.5), reduce_time(6.5, 1.4), reduce_time(9, 1.35),
            reduce_time(22, 1.25), reduce_time(78, 1.15), *3 * [reduce_rate(360, 1, "aim")])))
      for (name, kib), (target, *bounds) in zip(
          (("1 KiB", 1), ("16 KiB", 16), ("64 KiB", 64), ("256 KiB", 256), ("1 MiB", 1024), ("4 MiB", 4096),
           ("16 MiB", 16384), ("64 MiB", 65536), ("256 MiB", 262144), ("1 GiB", 1048576)), targets)),
    *((f"all-reduce of {name} without a graph, 2 GPUs", "<= 2 us of the host", "all_reduce", ["without_graphs", {"kib": kib}],
       "{ours_us:,.2f} us, the host's part {ours_host_us:.2f} us; NCCL without NVLS {nccl_default_us:,.2f} us, "
       "{nccl_default_host_us:.2f} us; an empty kernel takes {launch_alone_host_us:.2f} us of the host",
       at_most(2, "ours_host_us"))
      for name, kib in (("1 KiB", 1), ("1 MiB", 1024))),
    *((f"{kind} product, 4096^3, `{strategy}`", target, "matmul",
       ["products", {"type": kind, "name": strategy}],
       "{share_of_peer:.1%} of {peer}", *bounds)
      for kind, strategy, target, *bounds in (
          ("bfloat16", "copy::bulk<4>", ">= 70 % of cuBLASLt", at_least(0.7, "share_of_peer")),
          ("bfloat16", "copy::cp_async<4>", ""),
          ("bfloat16", "copy::cp_async<2>", ""), ("bfloat16", "copy::regular<16, 8>", ""),
          ("float", "copy::bulk<4>", ">= 80 % of cuBLAS without tf32", at_least(0.8, "share_of_peer")),
          ("float", "copy::cp_async<4>", ""), ("float", "copy::regular<16, 8>", ""))),
    *((f"weights of {number} of {size} updated by their products", "", "weight_update",
       ["rows", {"size": size, "layers": layers}],
       "{together_us:,.0f} us, {share_of_bound:.0%} of the copy rate; cuBLASLt and AdamW {apart_us:,.0f} us; {outcome}")
      for size, layers, number in (("small", 1, "one layer"), ("small", 12, "12 layers"), ("xl", 1, "one layer"),
                                   ("2.7B", 1, "one layer"))),
    *((f"step of {size}/512 as a graph, `optimiser::in_products`", "", "weight_update", ["steps", {"size": size}],
       "{in_products_ms:.2f} ms; `optimiser::fused` {fused_ms:.2f} ms; {outcome} by at least {gains_at_least:.1%}")
      for size in ("small", "xl")),
    *((f"SwiGLU in the product of {what}, {size}, 2048 tokens", "", "swiglu_product",
       ["rows", {"size": size, "pass": which}],
       "{together_us:.1f} us, {tflops:.0f} TFLOP/s; cuBLAS and SwiGLU {apart_us:.1f} us; {outcome} by at least {gains_at_least:.1%}")
      for size in ("small", "medium", "xl", "2.7B")
      for which, what in (("forward", "its inputs"), ("backward", "its gradient"))),
    ("streaming sum, all SMs, best strategy", ">= 97 % of the read bandwidth", "copy_strategies", [],
     "{sum_share_of_read_limit:.1%}", at_least(0.97, "sum_share_of_read_limit")),
    *((f"{what}, `{strategy}` ({kib} KiB in flight an SM) against `copy::regular` (16 KiB), {sms} SMs", "",
       "copy_strategies", ["rows", {"workload": workload, "sms": sms, "strategy": strategy}], "{of_first:.2f}x")
      for what, workload, places in (
          ("streaming sum", "streaming_sum", (4, 64)), ("gather of rows of 1 KiB", "row_gather 1024", (4,)))
      for sms in places for strategy, kib in (
          ("copy::regular<16, 8>", 32), ("copy::cp_async<2>", 32), ("copy::bulk<2>", 32),
          ("copy::cp_async<4>", 64), ("copy::bulk<4>", 64))),
    *((f"{what}, `{strategy}` against `copy::regular`, all SMs", "", "copy_strategies",
       ["rows", {"workload": workload, "sms": 0, "strategy": strategy}], "{of_first:.2f}x")
      for what, workload in (
          ("streaming sum", "streaming_sum"), ("gather of rows of 1 KiB", "row_gather 1024"),
          ("`scale_add`", "scale_add"), ("transpose", "transpose"))
      for strategy in ("copy::cp_async<2>", "copy::bulk<4>")),
    ("NVML's energy counter under copies", "", "energy_counter", ["step"], "changes every {seconds:.2f} s, by {joules:.0f} J"),
    *((f"energy of {what}, pairs of cells of 0.5 s for 10 s", target, "energy_counter", ["cells", {"seconds": 0.5, "extra": extra}],
       "more in {more}, less in {less} of {trials}; intervals {median_width:.1%} wide (median)", *tests)
      for what, target, extra, tests in (("equal copies", "0 more", 0.0, [exactly(0, "more")]),
                                         ("copies and 2 % more", "100 % more", 0.02, [at_least(1, "more", of="trials")]))),
    ("Python: equal kernels of Triton of 50 us", "<= 9 false of 100", "python_verdicts", ["equal"],
     "{false} false of {trials}; {median_seconds:.2f} s a verdict, at most {max_seconds:.2f} s", at_most(9, "false")),
    ("Python: 2 % less work found", "20 of 20", "python_verdicts", ["less"],
     "{found} of {trials}; {median_seconds:.2f} s a verdict", at_least(1, "found", of="trials")),
    ("Python: a verdict from a fresh process", "<= 1.5 s of measuring", "python_verdicts", ["fresh"],
     "{measuring_seconds:.2f} s; {median_process_seconds:.1f} s with the start of Python and torch",
     at_most(1.5, "measuring_seconds")),
    ("Python: a kernel that takes longer to launch than to run", "", "python_verdicts", ["short"],
     "{gpu_us:.1f} us by the `gpu` clock, {submit_us:.1f} us by `submit`"),
    ("an `nvtx_range`, idle", "<= 2 ns", "trace_cost", ["range_ns"], "{idle:.2f} ns", at_most(2, "idle")),
    ("an `nvtx_range`, recorded", "<= 120 ns", "trace_cost", ["range_ns"], "{recorded:.1f} ns",
     at_most(120, "recorded")),
    ("host time that a recorded launch adds, kernels and runtime calls", "<= 0.7 us", "trace_cost",
     ["launch_us"], "{added_by_kernels_and_runtime_calls:.2f} us",
     at_most(0.7, "added_by_kernels_and_runtime_calls")),
    ("a traced null_cast batch", "<= 1.05x the untraced", "trace_cost",
     ["batch", "traced against untraced"], "{ratio:.4f}x [{low:.4f}, {high:.4f}]",
     at_most(1.05, "ratio")),
    ("the batch after a trace", "as before", "trace_cost",
     ["batch", "after a trace against untraced"], "{ratio:.4f}x [{low:.4f}, {high:.4f}], {verdict}",
     exactly("EQUIVALENT", "verdict")),
    ("kernels missing from a recording of 10^6", "0", "trace_cost", ["million"],
     "{kernels_missing} of {launched:,}", exactly(0, "kernels_missing")),
    *((f"reasons for {name}: named first, interval holds the truth", ">= 90 %, >= 90 %", "explanation_truth",
       ["causes", "kinds", kind],
       "{first_share:.0%}, {holds_share:.0%} of {trials}; median error {relative_error:+.1%}, half-width {relative_half_width:.1%}",
       at_least(0.9, "first_share"), at_least(0.9, "holds_share"))
      for kind, name in (
          ("allocation", "an allocation per item"), ("mutex", "a mutex around submission"),
          ("uncoalesced_loads", "uncoalesced loads"), ("less_occupancy", "less occupancy"),
          ("extra_copy", "an extra copy"), ("smaller_batch", "a smaller batch"))),
    *((f"races over 48 configurations of a {kind}: winner within 1 % of the best of all, measured exhaustively",
       ">= 38 of 40", "race", [kind],
       "{within_1_percent} of {races}; smallest of medians {medians_within_1_percent}; {cells_saved:.0%} of timed seconds "
       "saved; {seconds_per_race:.1f} s a race", at_least(38 / 40, "within_1_percent", of="races"))
      for kind in ("product", "stencil")),
    ("the referee's verdict on a kernel of 50 us, in a process that is kept", "<= 1 s", "referee", [],
     lambda found, _: f"p50 {found['seconds']['p50']:.2f} s, p99 {found['seconds']['p99']:.2f} s; "
                      f"{found['accused']} of {found['verdicts']} honest ones accused",
     at_most(1, "seconds", "p99")),
    ("reasons for allocations of another thread: named first, interval holds the truth", ">= 90 %, >= 90 %",
     "explanation_truth", ["causes", "kinds", "allocation_beside"],
     "{first_share:.0%}, {holds_share:.0%} of {trials}; median error {relative_error:+.1%}, half-width {relative_half_width:.1%}",
     at_least(0.9, "first_share"), at_least(0.9, "holds_share")),
    ("reasons for equal batches: none is named", ">= 95 %", "explanation_truth", ["causes", "kinds", "equal"],
     "{nothing_named_share:.0%} of {trials}", at_least(0.95, "nothing_named_share")),
    ("equal runs that `--diff --range` tells apart, beyond its 1 %", "<= 3 of 20", "step_traces", ["pairs_of_runs"],
     "{false[any]} of {pairs}", at_most(3 / 20, "false", "any", of="pairs")),
    ("a kernel that does 2 % more, found between two runs", "20 of 20", "step_traces", ["pairs_of_runs"],
     "{slower_kernel_found} of {pairs}", at_least(1, "slower_kernel_found", of="pairs")),
    *((f"a graph of 100 kernels of {us} us, against the least time that the trace of launches predicts", "<= 1.3x",
       "step_traces", ["what_if", {"cycles": cycles}],
       "{graph_us:.1f} us, predicted {predicted_us:.1f}; launched one by one {recorded_us:.1f}",
       at_most(1.3, "graph_us", of="predicted_us"))
      for cycles, us in ((0, 0.6), (2000, 1.6), (4000, 2.6), (8000, 4.6), (16000, 8.7))),
    *((f"all reports of {size} kernels and {size} API calls, from SQLite (no GPU)", f"<= {limit} s, <= {gib} GiB",
       "trace_reports", path, "{seconds:.2f} s of one core, {peak_bytes:,.0f} bytes", at_most(limit, "seconds"),
       at_most(gib * 2**30, "peak_bytes"))
      for size, limit, gib, path in (("10^6", 3, 1, []), ("10^7", 15, 2.5, ["ten_times"]))),
    ("public exports of nsys whose sums differ from those of plain SQL (no GPU)", "0, of >= 200", "real_exports", [],
     "{files_with_differences} of {files}, of {repositories} repositories", exactly(0, "files_with_differences"),
     at_least(200, "files")),
    ("tables of `nsys stats` that authors committed beside their exports, against ours, cell by cell (no GPU)", "0 differ",
     "real_texts", [], "{tables_with_differences} of {tables}, {cells} equal cells, {exports} exports, {repositories} repositories",
     exactly(0, "tables_with_differences")),
    ("the difference of two traces of 10^7 kernels in memory (no GPU)", "<= 5 s", "trace_reports", ["difference"],
     "{seconds:.2f} s of one core", at_most(5, "seconds")),
    ("the ranks of 8 files of 10^6 kernels each, from SQLite (no GPU)", "<= 15 s", "trace_reports", ["ranks"],
     "{seconds:.2f} s of one core, {peak_bytes:,.0f} bytes", at_most(15, "seconds")),
    *((f"regret beside {beside}, arrays {where}", "<= 10 %", "dispatch_load", [kind, memory],
       "{watched_after_600_ms[total]:.1%} with `load::watched` after 0.6 s; {ignored[total]:.1%} with `load::ignored`",
       at_most(0.1, "watched_after_600_ms", "total"))
      for kind, beside in (("busy_gpu", "a process that never leaves the GPU"),
                           ("gpu_in_bursts", "a process on the GPU in bursts"))
      for memory, where in (("resident", "resident"), ("page_locked", "page-locked"))),
    ("seeded bugs of host functions that `verify` finds (no GPU)", "0 right ones accused, >= 95 %, <= 1 s each",
     "seeded_bugs_host", ["total"],
     "{found} of {bugs}, {accused} accused, at most {worst_seconds:.2f} s; one size and rtol 1e-5: {habit[rtol 1e-5][found]}",
     at_least(0.95, "found", of="bugs"), exactly(0, "accused"), at_most(1, "worst_seconds")),
    ("seeded bugs of kernels that `verify` finds", "0 right ones accused, >= 95 %, <= 1 s each",
     "seeded_bugs", ["total"],
     "{found} of {bugs}, {accused} accused, at most {worst_seconds:.2f} s; one size and rtol 1e-5: {habit[rtol 1e-5][found]}",
     at_least(0.95, "found", of="bugs"), exactly(0, "accused"), at_most(1, "worst_seconds")),
    ("a choice between 6 paths (no GPU)", "p50 <= 100 ns, p99 <= 250 ns", "dispatch_choose", [],
     "p50 {p50_ns:.0f} ns, p99 {p99_ns:.0f} ns", at_most(100, "p50_ns"), at_most(250, "p99_ns")),
    ("the same with `load::own_queue` (no GPU)", "", "dispatch_choose", ["with_load"],
     "p50 {p50_ns:.0f} ns, p99 {p99_ns:.0f} ns"),
    *((f"an empty `host::parallel_for` on {threads} threads, two cores (no GPU)", "", "parallel_for",
       ["loops", {"threads": threads}],
       "{kept_us:.1f} us; {started_us:.0f} us with threads that are started for each loop, {openmp_us:.1f} us by OpenMP")
      for threads in (2, 4, 16)),
    ("faults of ranks, 2 to 64 processes of two cores (no GPU)", "0 ranks hang or say another error", "world_faults", [],
     "{wrong_or_hung} of {trials} jobs, the longest took {longest_run_s:.2f} s", exactly(0, "wrong_or_hung")),
    *((f"calls of a world of {ranks} ranks, two cores (no GPU)", target, "world_faults", ["calls", {"ranks": ranks}],
       "rank 1 has a broadcast after {broadcast_us:.0f} us, a barrier takes {barrier_us:.0f} us", *bounds)
      for ranks, target, bounds in ((2, "<= 60 us", [at_most(60, "broadcast_us")]), (4, "", []), (16, "", []),
                                    (64, "", []))),
    *((f"rank 0 of {ranks} ranks, time of its processor (no GPU)", "", "world_growth", ["calls", {"ranks": ranks}],
       "broadcast {broadcast_us:,.0f} us, gather {gather_us:,.0f} us, barrier {barrier_us:,.0f} us")
      for ranks in (2, 16, 64, 256, 1024)),
    *((f"calls of a comparison over {ranks} ranks (no GPU)", "", "world_growth", ["comparisons", {"ranks": ranks}],
       "{messages_per_epoch:,.0f} messages and {ms_per_epoch:,.1f} ms of rank 0's processor an epoch")
      for ranks in (2, 16, 64, 256, 1024)),
    *((f"verb of rank 0 to the first launch of {ranks} ranks, two cores (no GPU)", target, "following", ["verbs", {"ranks": ranks}],
       "p50 {p50_us:.0f} us, p99 {p99_us:.0f} us", *bounds)
      for ranks, target, bounds in ((2, "p50 <= 60 us", [at_most(60, "p50_us")]), (16, "", []))),
    ("a verdict on work of 100 us by 16 ranks, two cores (no GPU)", "<= 15 s", "following", [],
     "at most {longest_verdict_s:.1f} s, beside a load of {load_before:.0f}", at_most(15, "longest_verdict_s")),
    ("counters, core set", "1 pass", "counters", [], "{core_passes}", exactly(1, "core_passes")),
    ("counters against `ncu`, largest difference", "<= 2 %", "counters", [],
     "{largest_difference:.2%}", at_most(0.02, "largest_difference")),
    ("`assay_compare --nvbench`: states of two equal builds", "<= 9 false of 100", "nvbench_equal", ["equal"],
     "{false} false of {states}", at_most(0.09, "false", of="states")),
    ("`assay_compare --nvbench`: time of a state", "<= 10 s", "nvbench_equal", ["equal"],
     "{mean_seconds:.1f} s, at most {max_seconds:.1f} s", at_most(10, "max_seconds")),
    ("compile `#include <assay/compare.cuh>`, compiled mode", "<= 0.5x `<cub/cub.cuh>`", "compile_time", ["to_cub"],
     "{compare_compiled:.2f}x", at_most(0.5, "compare_compiled")),
    ("the same, header-only", "<= 1.25x `<cub/cub.cuh>`", "compile_time", ["to_cub"],
     "{compare_header_only:.2f}x", at_most(1.25, "compare_header_only")),
    ("compile `two_kernels.cu`, compiled mode", "<= 4 CPU s", "compile_time", ["cpu_seconds"],
     "{two_kernels_compiled:.1f} s", at_most(4, "two_kernels_compiled")),
    ("the same, header-only", "<= 14 CPU s", "compile_time", ["cpu_seconds"],
     "{two_kernels_header_only:.1f} s", at_most(14, "two_kernels_header_only")),
    ("compile `see_why.cu`, compiled mode", "<= 10 CPU s", "compile_time", ["cpu_seconds"],
     "{see_why_compiled:.1f} s", at_most(10, "see_why_compiled")),
    ("compile the experiment `null_cast`, all files, compiled mode", "<= 25 CPU s", "compile_time", ["cpu_seconds"],
     "{null_cast_compiled:.1f} s", at_most(25, "null_cast_compiled")),
    ("compile a unit test, beyond its kernel, compiled mode", "<= 4 CPU s", "compile_time", [],
     "{unit_test_beyond_kernel_cpu_seconds:.1f} s", at_most(4, "unit_test_beyond_kernel_cpu_seconds")),
    ("compile the library of compiled mode, once", "<= 60 CPU s", "compile_time", [],
     "{library_cpu_seconds:.0f} s", at_most(60, "library_cpu_seconds")),
    ("weak symbols of `two_kernels.cu` without `-O`, compiled mode", "<= 800", "compile_time", ["weak_symbols"],
     "{two_kernels_compiled}", at_most(800, "two_kernels_compiled")),
    ("the same, header-only", "<= 4,500", "compile_time", ["weak_symbols"],
     "{two_kernels_header_only}", at_most(4500, "two_kernels_header_only")),
]

# What docs/figures.md, which has the tables of all pages, says above a table: where words are explained, and why a share
# may be above 100 %.
ABOUT = {
    "null_cast": "A kernel that reads more than it writes may exceed `cudaMemcpy`, which writes as much as it reads.",
    "batch": "Below 1x: kernels of four streams overlap, and alone they run one after another.",
    "false_alarms": "Equal work has no difference, so FASTER and SLOWER are false: "
                    "see [verdicts](verdicts.md#what-was-measured).",
    "detection": "`run_until_sign` goes on after EQUIVALENT until it is clear which variant is faster.",
    "memory_pool": "A pair is one `allocate` and one `deallocate`, on a thread's own stream. Stated caps are what streams "
                   "may keep, `stream_cache_bytes`: see [the pool](pool.md#options).",
    "memory_workloads": "Pools that are `reserved` hold half of the card beforehand, or 8 GiB each where all are open at "
                        "once: see its `method`. Pools that are `empty` grow. RMM's random sizes are of the default stream, "
                        "with reserved pools.",
    "overlap": "The bound and T(N): see [transfers](transfers.md#how-many-chunks). A share of the bound above 100 %: the "
               "link or the kernel took longer while the bound was measured. Staged transfers are held against a copy on "
               "the host by as many threads, which they may exceed.",
    "all_reduce": "\"With windows\" and \"the bytes alone\": see [all-reduce](all-reduce.md#what-is-measured).",
    "copy_strategies": "Bytes in flight: see [copy strategies](copy-strategies.md#what-they-are-worth).",
    "explanation_truth": "How reasons are judged: see [see why](see-why.md#how-often-the-reasons-are-right).",
    "race": "The smallest of medians is the choice of a tuner without statistics: see [races](race.md#the-statistics).",
    "referee": "What accuses a kernel: see [referee](referee.md#what-it-finds-and-how).",
    "dispatch_load": "Resident arrays lie in the memory of each path and need no copy: see [regret](dispatch.md#regret) and "
                     "[load](dispatch.md#load).",
}


def record(document, path):
    """What a path leads to; a step is the name of a member, or fields that pick from a list."""
    for step in path:
        if isinstance(step, str):
            document = document[step]
        else:
            document = next(each for each in document if step.items() <= each.items())
    return document


# What the README shows: the result, the figure as FIGURES calls it, what the README calls it, and how it reads there.
HEADLINE = [
    ("false_alarms", "comparisons of equal work on the default path, 14 kinds", "false verdicts for equal work",
     "{false_alarms} of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN"),
    ("detection", "real slow-down of 0.3 % of a copy of 40 us found, with `run_until_sign`",
     "a slow-down of 0.3 % of a copy of 40 us, found", "{found} of {trials}, {median_seconds_per_verdict:.2f} s each"),
    ("memory_pool", "`mr::pool`, pair, 21 MB, 16 threads", "`mr::pool`, allocate and free 21 MB, 16 threads",
     beside_rmm),
    ("overlap", "`transfer::overlapped`, 512 MiB each way", "`transfer::overlapped`, 512 MiB each way",
     "{share_of_bound:.1%} of the link"),
    ("all_reduce", "all-reduce of 1 MiB, 2 GPUs", "all-reduce of 1 MiB between 2 GPUs",
     "{ours_us:.2f} us; NCCL without NVLS {nccl_default_us:.2f} us"),
    ("matmul", "bfloat16 product, 4096^3, `copy::bulk<4>`", "bfloat16 matrix product, 4096^3, by `copy::bulk<4>`",
     "{share_of_peer:.1%} of cuBLASLt"),
]


def shown(row, all_figures):
    """How the value of one row of FIGURES reads, with a word where the target was missed."""
    _, _, _, path, form, *bounds = row
    try:
        found = record(all_figures, path)
        value = form(found, all_figures) if callable(form) else form.format(**found)
        kept = all(bound.kept(found, all_figures) for bound in bounds)
    except (KeyError, StopIteration):  # a peer that was not installed, a quick run
        return NOT_THERE
    return value if kept else f"**missed**: {value}"


def cell(row, results):
    """What FIGURES measured in one row; None without a result."""
    file = results / f"{row[2]}.json"
    return shown(row, json.loads(file.read_text())["figures"]) if file.exists() else None


def age(commit):
    """How many commits are newer than the one that a result was measured at."""
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        return "age unknown"
    done = subprocess.run(["git", "-C", root, "rev-list", "--count", f"{commit}..HEAD"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return "age unknown"
    count = int(done.stdout)
    return f"{count} commit{'s' * (count != 1)} old"


def origin(results, name):
    """(devices, dates, commits, age) of a result; dates and commits may be empty. One that was continued has several
    runs: it is as old as the first one."""
    found = json.loads((results / f"{name}.json").read_text())
    runs = found.get("figures", {}).get("runs") or [found.get("environment", {})]
    runs = sorted(runs, key=lambda run: run.get("started_at", ""))
    devices = {run.get("device", "").split(",")[0].removeprefix("NVIDIA ").removesuffix(" 80GB HBM3") for run in runs}
    commits = [run.get("commit", "")[:7] for run in runs]
    old = age(commits[0])
    if old != "age unknown" and len(set(commits)) > 1:
        old = f"up to {old}"
    return (" and ".join(sorted(devices - {""})) or "no GPU", span([run.get("started_at", "")[:10] for run in runs]),
            span(commits), old)


def span(values):
    """From the first to the last; the first may be unknown."""
    first, last = values[0], values[-1]
    return last if first == last else f"{first} to {last}" if first else f"up to {last}"


def figures(results, folder, *only):
    tables = {}
    for row in FIGURES:
        what, target, name = row[:3]
        value = cell(row, results)
        if value is not None and (not only or name in only):
            tables.setdefault(name, []).append(f"| {what} | {target} | {value} |\n")
    text = ""
    for name, rows in tables.items():
        device, date, commit, old = origin(results, name)
        about = ", ".join(filter(None, (device, date, f"commit{'s' * (' ' in commit)} {commit}" if commit else "", old)))
        words = ABOUT[name] + "\n" if name in ABOUT and not only else ""
        text += (f"[{name}]({folder}benchmarks/results/{name}.json): {about}.\n{words}\n"
                 "| what | target | measured |\n|---|---|---|\n" + "".join(rows) + "\n")
    return text.removesuffix("\n") or NOTHING_YET


def headline(results, folder):
    rows = []
    for name, title, shown, form in HEADLINE:
        row = next(each for each in FIGURES if each[2] == name and each[0] == title)
        value = cell((*row[:4], form, *row[5:]), results)
        if value is not None:
            device, date, commit, old = origin(results, name)
            rows.append(f"| {shown} | {value} | {device}, {date} | "
                        f"[{commit}]({folder}benchmarks/results/{name}.json) | {old} |\n")
    heading = "| what | measured | device, date | commit | age |\n|---|---|---|---|---|\n"
    return heading + "".join(rows) if rows else NOTHING_YET


# What CUPTI calls the reasons of a waiting warp.
WAITS_FOR = {"long_scoreboard": "memory", "barrier": "the other warps of its block", "membar": "a fence",
             "sleeping": "the end of a sleep", "wait": "a fixed delay", "short_scoreboard": "shared memory",
             "lg_throttle": "a place in the queue of loads", "mio_throttle": "a place in the queue of shared memory",
             "branch_resolving": "a branch", "no_instruction": "the next instruction", "not_selected": "its turn"}


def signed_span(ratios):
    return " to ".join(f"{100 * (ratio - 1):+.1f} %" for ratio in (min(ratios), max(ratios)))


def reason(results, folder, name):
    """A table and a paragraph from a result of benchmarks/all_reduce_reason.cu: what a copy strategy changes, and why."""
    file = results / f"{name}.json"
    if not file.exists():
        return "*No result is committed yet: it takes two GPUs.*\n"
    sizes = json.loads(file.read_text())["figures"]["sizes"]
    text = ("| size | stages | plain loads | `cp.async` | bulk copies | the bytes alone | no warp can issue |\n"
            "|---|---|---|---|---|---|---|\n")
    ratios = {"cp_async": [], "bulk": []}
    plain_at = {}
    for size in sizes:
        for stages in ("1", "2"):
            of = {kind: next(each for each in size["strategies"]
                             if each["stages"] == stages and each["strategy"].startswith(f"copy::{kind}<"))
                  for kind in ("regular", *ratios)}
            plain = plain_at[size["kib"], stages] = of["regular"]
            for kind, all_of_it in ratios.items():
                all_of_it.append(of[kind]["us"] / plain["us"])
            mib = size["kib"] / 1024
            waiting = f"{1 - plain['issue_share']:.0%} of cycles" if "issue_share" in plain else "not counted"
            text += (f"| {f'{mib:.0f} MiB' if mib >= 1 else str(size['kib']) + ' KiB'} | {stages} | "
                     + " | ".join(f"{each['us']:,.2f} us" for each in of.values())
                     + f" | {size['alone_us']:,.2f} us, {plain['alone_share']:.0%} | {waiting} |\n")
    kib = max(size["kib"] for size in sizes if size["kib"] <= 16384)
    plain = plain_at[kib, "1"]
    words = (f"`cp.async` takes {signed_span(ratios['cp_async'])} more time than plain loads, bulk copies "
             f"{signed_span(ratios['bulk'])}. Why so little? One stage of {kib / 1024:.0f} MiB takes {plain['us']:,.1f} us "
             f"with plain loads. Kernels that only send the bytes take {plain['alone_share']:.0%} of that, so the best copy "
             f"could gain {1 - plain['alone_share']:.0%}. ")
    if plain.get("busy_share"):
        words += f"By the trace a kernel runs for {plain['busy_share']:.0%} of the time. "
    if "warps" in plain:
        first, second = sorted((each for each in plain["warps"].items() if each[0] in WAITS_FOR), key=lambda each: -each[1])[:2]
        words += (f"By the counters no warp can issue an instruction in {1 - plain['issue_share']:.0%} of its cycles. A warp "
                  f"waits for {WAITS_FOR[first[0]]} in {first[1]:.0%} of its time, and for {WAITS_FOR[second[0]]} in "
                  f"{second[1]:.0%}. ")
    words += ("`cp.async` and bulk copies let a warp do other work while its bytes are under way. An all-reduce has no other "
              "work: one addition for each number that arrives. The link sets the time, and the bytes are the same. A test "
              "that reaches a hundredth of the link's rate waits for single loads, so it can show no difference either.")
    return f"{text}\n{textwrap.fill(words, 120)}\n"


def judges(results, folder, name):
    """What each judge said of the same pairs, with its settings, and what the pairs are."""
    file = results / f"{name}.json"
    if not file.exists():
        return NOTHING_YET
    found = json.loads(file.read_text())["figures"]
    said = {judge: each for judge, each in found["judges"].items() if each["equal"]["pairs"]}
    extras = [each["extra"] for each in next(iter(said.values()))["slower"]]

    def share(extra):
        return f"{100 * extra:g} %"

    def counted(count, each):
        text = f"{count} of {each['pairs']}"
        return text + (f", {each['undecided']} undecided" if each["undecided"] else "") + (
            f", {each['wrong_sign']} faster" if each.get("wrong_sign") else "")

    def seconds(value):
        return "" if value is None else f"{value:.2f} s"

    def rows(*cells_of_rows):
        return "".join("| " + " | ".join(cells) + " |\n" for cells in cells_of_rows)

    titles = ["judge", "false, of equal pairs", *(f"{share(extra)} more work found" for extra in extras),
              "median time", "longest", "median as a command"]
    text = rows(titles, ["---"] * len(titles), *(
        [judge, counted(each["equal"]["false"], each["equal"]), *(counted(row["found"], row) for row in each["slower"]),
         *(seconds(each[key]) for key in ("median_seconds", "max_seconds", "median_command_seconds"))]
        for judge, each in said.items()))
    text += "\n" + "".join(f"- {judge}: {each['settings']}.\n" for judge, each in said.items())
    titles = ["work", "time", *(f"true slow-down by {share(extra)}" for extra in extras)]
    return f"{text}\n" + rows(titles, ["---"] * len(titles), *(
        [f"`{kind}`", f"{1e6 * each['seconds']:.1f} us",
         *(f"{100 * sum(truth) / len(truth):.2f} %" if (truth := each["truth"].get(str(extra))) else "" for extra in extras)]
        for kind, each in found["kinds"].items()))


def compilers(results, folder):
    """A table of cells of cmake/matrix.sh for each kind of row: host compilers, nvcc, CMake."""
    file = results / "compilers.json"
    if not file.exists():
        return "*No result is committed yet; `sh cmake/matrix.sh --json FILE` makes one.*\n"
    cells = json.loads(file.read_text())["cells"]
    text = []
    for kind, of in {"host compiler": r"GCC|Clang", "toolkit and host compiler": "nvcc", "CMake": "CMake"}.items():
        found = {}
        for cell in cells:
            if re.match(of, cell["row"]):
                found.setdefault(cell["row"], {})[cell["column"]] = cell
        columns = list(dict.fromkeys(column for row in found.values() for column in row))
        if not found:
            continue
        lines = [f"| {kind} | {' | '.join(columns)} | date |", "|---" * (len(columns) + 2) + "|"]
        for row in sorted(found, key=lambda row: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", row)]):
            each = found[row]
            shown = [each[column]["result"].replace("|", "\\|") if column in each else "not run" for column in columns]
            lines.append(f"| {row} | {' | '.join(shown)} | {max(cell['date'] for cell in each.values())} |")
        text.append("\n".join(lines) + "\n")
    return "\n".join(text)


RENDERERS = {"report": report, "excerpt": excerpt, "source": source, "figures": figures, "headline": headline,
             "compilers": compilers, "reason": reason, "judges": judges}


def filled(text, results, folder=""):
    """The text with its parts generated; `folder` leads from the document to the root."""
    def fill(part):
        opening, kind, arguments, closing = part.groups()
        if kind not in RENDERERS:
            sys.exit(f"`{opening.strip()}`: there is no generator of that name")
        return opening + RENDERERS[kind](results, folder, *arguments.split()) + closing

    return PART.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = False
    for name in documents():
        path = root / name
        before = path.read_text()
        after = filled(before, root / "benchmarks" / "results", "../" * name.count("/"))
        if options.check:
            before, after = AGE.sub("", before), AGE.sub("", after)
        if before != after:
            stale = True
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                                       name, f"{name}, generated"))
            if not options.check:
                path.write_text(after)
    if stale and options.check:
        sys.exit("the documents are stale: run `python3 cmake/generate_docs.py`")


if __name__ == "__main__":
    main()
