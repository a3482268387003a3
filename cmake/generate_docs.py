# SPDX-License-Identifier: Apache-2.0
"""Fills the generated parts of the documents from the committed results; --check only compares.

A part stands between `<!-- generated: NAME ARGUMENTS -->` and `<!-- end of NAME -->`:
  report FILE SECTION...   sections of benchmarks/results/FILE.txt, a report as the program printed it;
                           `head` is its first paragraph, others are named by how their first line begins
  source FILE              the program examples/FILE, which the build compiles
  figures [FILE...]        the table FIGURES below, from benchmarks/results/*.json; of these results, or of all that have
                           no table of their own
"""
import argparse
import difflib
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md"]
PART = re.compile(r"(<!-- generated: (\w+) ?(.*?) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
NOTHING_YET = "*No result is committed yet; `sh cmake/demo.sh` makes one.*\n"


def report(results, name, *sections):
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


def source(results, name):
    text = (root / "examples" / name).read_text()
    # `c++` and not `cpp`: the test that compiles the code of documents need not compile it twice.
    return "```c++\n" + text.split("\n", 1)[1] + "```\n"


def over_one_thread(pair, figures):
    alone = record(figures, ["pairs", {**{key: pair[key] for key in ("resource", "bytes")}, "threads": 1}])
    return f"{pair['p50_ns']:.0f} ns, {pair['p99_ns']:.0f} ns: {pair['p50_ns'] / alone['p50_ns']:.2f}x"


# The table of figures: what, target, result file, which record of it, how its value reads: a format for the record, or a
# function of it and of all figures.
# A record is found by a path through objects; in a list it is the one whose fields are as named.
LARGE = {"type": "int32", "rows": 2**28}
FIGURES = [
    ("`null_cast_fused`, 2^28 rows", ">= 93 % of `cudaMemcpy`", "null_cast",
     ["kernels", {"kernel": "null_cast_fused", **LARGE}], "{share_of_memcpy:.1%}"),
    *((f"`{kernel}`, 2^28 rows", ">= 90 % of `cudaMemcpy`", "null_cast",
       ["kernels", {"kernel": kernel, **LARGE}], "{share_of_memcpy:.1%}")
      for kernel in ("is_valid", "copy_if_else", "cast")),
    ("full batch, 4 x 100 items, pool, concurrent", "<= 1.15x its kernels alone", "batch",
     ["full_batch"], "{wall_over_kernels_alone:.2f}x"),
    ("the same, against four lanes of graphs", "", "batch",
     ["full_batch"], "{wall_over_four_lanes_at_once:.2f}x"),
    ("one verdict on a 1 ms batch, 8 epochs", "<= 2 s", "batch", ["verdict"], "{seconds:.2f} s"),
    ("comparisons of equal work on the default path, 14 kinds", "<= 38 false of 1,000", "false_alarms",
     ["as_used", "total"],
     "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; {median_seconds_per_verdict:.2f} s"),
    *((f"the same, {name}", target, "false_alarms", ["as_used", "kinds", kind],
       ("**missed**: " if kind.startswith("null_cast") else "") +
       "{false_alarms} false of {trials}; {inconclusive} INCONCLUSIVE, {unproven} UNPROVEN; "
       "{median_seconds_per_verdict:.2f} s a verdict")
      for kind, name, target in (
          ("gemm_2048", "GEMM 2048^3 of 24 us", "<= 0.5 s"),
          ("copy_beyond_l2", "a copy of 99 us", "<= 0.5 s"),
          ("short_kernel", "a kernel of 2.5 us", "<= 25 % INCONCLUSIVE"),
          ("allocate_launch_free", "allocate + launch + free", "<= 25 % INCONCLUSIVE"),
          ("null_cast_async_serialized", "`null_cast` with `mr::async`, serialized", "<= 5 % INCONCLUSIVE"))),
    ("equal work with a confounder: placement, warm cache, first touch", "<= 5 % false", "confounders",
     ["factories", "total"], "{false_alarms} false of {trials}"),
    *((f"false alarms of comparisons of an all-reduce with itself, `{how}`", "<= 15, as 5 % give in 95 of 100 runs",
       "collective_false_alarms", [how],
       "{renewed[false_alarms]} of {renewed[trials]}; with engines kept from epoch to epoch "
       "{kept[false_alarms]} of {kept[trials]}")
      for how in ("two_shot", "ll_push")),
    *((f"real slow-down of {name} found, with `run_until_sign`", ">= 90 %", "detection", ["slow_downs", "found", {"name": kind}],
       "{found} of {trials}, truth in {coverage:.1%} of intervals, {median_seconds_per_verdict:.2f} s a verdict")
      for kind, name in (("copy_40us", "0.3 % of a copy of 40 us"), ("copy_200us", "0.2 % of a copy of 200 us"))),
    *((f"`mr::pool`, pair, {name}, 1 thread", "p50 <= 30 ns, p99 <= 150 ns", "memory_pool",
       ["pairs", {"resource": "mr::pool", "bytes": size, "threads": 1}],
       "{p50_ns:.0f} ns, {p99_ns:.0f} ns") for name, size in (("4 KiB", 4096), ("21 MB", 21474832))),
    *((f"the same from 16 threads, {name}", "<= 1.2x its 1-thread figure", "memory_pool",
       ["pairs", {"resource": "mr::pool", "bytes": size, "threads": 16}], over_one_thread)
      for name, size in (("4 KiB", 4096), ("21 MB", 21474832))),
    *((f"{peer}, pair, 21 MB, {threads} thread{'s' * (threads > 1)}", "(peer)",
       "memory_pool",
       ["pairs", {"resource": peer, "bytes": 21474832, "threads": threads}],
       "p50 {p50_ns:,.0f} ns, mean {mean_ns:,.0f} ns")
      for peer in ("mr::async", "rmm pool", "rmm arena") for threads in (1, 16)),
    ("block taken from another stream", "<= 2 us", "memory_pool", ["steal_with_event"],
     "{p50_ns:,.0f} ns"),
    ("reserved over peak live beyond stated caps, mixed trace", "<= 1.25x", "memory_pool",
     ["traces", {"resource": "mr::pool{0 bytes}"}], "{ratio_beyond_kept:.2f}x"),
    *((f"`transfer::overlapped`, {name} each way", f">= {share} % of the bound", "overlap",
       ["overlapped", {"mib_to_host": mib}],
       "{share_of_bound:.1%}; T(N) allows {closed_form_share:.1%}")
      for name, mib, share in (("1 GiB", 1024, 97), ("512 MiB", 512, 97), ("256 MiB", 256, 95),
                               ("64 MiB", 64, 90), ("16 MiB", 16, 82))),
    *((f"picked chunks and streams, {name}", "within 2 % of the best of the grid", "overlap",
       ["grid", {"mib": mib}], "{picked_over_best:.3f}x its time")
      for name, mib in (("16 MiB", 16), ("64 MiB", 64), ("512 MiB", 512))),
    ("`transfer::overlapped`, a kernel of 3.5 times the link's time, 256 MiB", ">= 95 % of the bound", "overlap",
     ["other_shapes", {"shape": "kernel-bound"}], "{share_of_bound:.1%}"),
    *((f"against four streams of equal chunks, {name}", f">= {ratio:.2f}x", "overlap",
       ["overlapped", {"mib_to_host": mib}], "{over_textbook:.2f}x")
      for name, mib, ratio in (("64 MiB", 64, 1.10), ("1 GiB", 1024, 1.03))),
    *((f"`transfer::staged` {words}, 1 GiB", targets, "overlap",
       ["staged", {"direction": direction, "mib": 1024}],
       "{share_of_limit:.1%}, {over_pageable:.2f}x")
      for words, direction, targets in (
          ("to the device", "to_device",
           ">= 90 % of min(pinned link, host memcpy), >= 2.5x pageable"),
          ("to the host", "to_host", ">= 1.3x pageable"))),
    *((f"`transfer::pinned` {words}, 1 GiB", ">= 99 % of one `cudaMemcpyAsync`", "overlap",
       ["one_way", {"direction": direction, "mib": 1024}], "{share_of_memcpy:.1%}")
      for words, direction in (("to the device", "to_device"), ("to the host", "to_host"))),
    *((f"all-reduce of {name}, {gpus} GPUs", target, result, ["sizes", {"kib": kib}],
       "{ours_us:,.2f} us, {ours_busbw_gb_per_second:.0f} GB/s; NCCL {nccl_default_us:,.2f} us, "
       "with windows {nccl_windows_us:,.2f} us: {over_better_nccl:.3f}x" + limit)
      for gpus, result, limit, targets in (
          (2, "all_reduce", "; in place {ours_in_place_us:,.2f} us; the bytes alone {pushed_us:,.2f} us",
           ("<= 3.3 us", "<= 3.3 us", "<= 4.0 us, >= 1.7x", "<= 4.5 us, >= 1.8x",
            "<= 6.5 us, >= 2x", "<= 15 us, >= 1.7x", "<= 50 us, >= 1.4x",
            ">= 352 GB/s, >= 1.3x", ">= 352 GB/s", ">= 352 GB/s, >= 1.08x")),
          (4, "all_reduce_4_gpus", "",
           ("<= 3.8 us", "<= 3.8 us", "<= 5.5 us, >= 1.5x", "<= 6.5 us, >= 1.4x",
            "<= 9 us, >= 1.35x", "<= 22 us, >= 1.25x", "<= 78 us, >= 1.15x",
            "aim 360 GB/s, >= 1x", "aim 360 GB/s, >= 1x", "aim 360 GB/s, >= 1x")))
      for (name, kib), target in zip(
          (("1 KiB", 1), ("16 KiB", 16), ("64 KiB", 64), ("256 KiB", 256), ("1 MiB", 1024), ("4 MiB", 4096),
           ("16 MiB", 16384), ("64 MiB", 65536), ("256 MiB", 262144), ("1 GiB", 1048576)), targets)),
    *((f"{kind} product, 4096^3, `{strategy}`", target, "matmul",
       ["products", {"type": kind, "name": strategy}],
       "{share_of_peer:.1%} of {peer}")
      for kind, strategy, target in (
          ("bfloat16", "copy::bulk<4>", ">= 70 % of cuBLASLt"), ("bfloat16", "copy::cp_async<4>", ""),
          ("bfloat16", "copy::cp_async<2>", ""), ("bfloat16", "copy::regular<16, 8>", ""),
          ("float", "copy::bulk<4>", ">= 80 % of cuBLAS without tf32"), ("float", "copy::cp_async<4>", ""),
          ("float", "copy::regular<16, 8>", ""))),
    ("streaming sum, all SMs, best strategy", ">= 97 % of the read bandwidth", "copy_strategies", [],
     "{sum_share_of_read_limit:.1%}"),
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
    ("a `range`, idle", "<= 2 ns", "trace_cost", ["range_ns"], "{idle:.2f} ns"),
    ("a `range`, recorded", "<= 80 ns", "trace_cost", ["range_ns"], "{recorded:.1f} ns"),
    ("host time that a recorded launch adds, kernels and runtime calls", "<= 0.7 us", "trace_cost",
     ["launch_us"], "{added_by_kernels_and_runtime_calls:.2f} us"),
    ("a traced null_cast batch", "<= 1.05x the untraced", "trace_cost",
     ["batch", "traced against untraced"], "{ratio:.4f}x [{low:.4f}, {high:.4f}]"),
    ("the batch after a trace", "as before", "trace_cost",
     ["batch", "after a trace against untraced"], "{ratio:.4f}x [{low:.4f}, {high:.4f}], {verdict}"),
    ("kernels missing from a recording of 10^6", "0", "trace_cost", ["million"],
     "{kernels_missing} of {launched:,}"),
    ("all reports of 10^6 kernels and 10^6 API calls, from SQLite (no GPU)", "<= 3 s, <= 1 GiB",
     "trace_reports", [], "{seconds:.2f} s, {peak_bytes:,.0f} bytes"),
    ("counters, core set", "1 pass", "counters", [], "{core_passes}"),
    ("counters against `ncu`, largest difference", "<= 2 %", "counters", [],
     "{largest_difference:.2%}"),
    ("compile `#include <assay/assay.cuh>`", "<= 1.25x `<cub/cub.cuh>`", "compile_time", [],
     "{ratio:.2f}x ({assay_seconds:.1f} s)"),
]


def record(document, path):
    """What a path leads to; a step is the name of a member, or fields that pick from a list."""
    for step in path:
        if isinstance(step, str):
            document = document[step]
        else:
            document = next(each for each in document if step.items() <= each.items())
    return document


NANOSECONDS = {"ns": 1, "us": 1e3, "s": 1e9}
UNIT = r" ?(%|GB/s|[nu]?s\b|x(?!\w)"
BOUND = re.compile(r"(<=|>=) ([\d.,]*\d)" + UNIT + r"|(?=,|$))")
NUMBER = re.compile(r"(?<![\w.,^])([\d.,]*\d)" + UNIT + r"|(?![\w.]))")


def missed(target, measured):
    """Whether a bound of the target, such as `<= 9 us`, is broken by the first number of its unit that no bound
    before it was held against."""
    left = [(float(number.replace(",", "")), unit) for number, unit in NUMBER.findall(measured)]
    for bound, number, unit in BOUND.findall(target):
        wanted = float(number.replace(",", "")) * NANOSECONDS.get(unit, 1)
        same = [each for each in left if each[1] == unit or (unit in NANOSECONDS and each[1] in NANOSECONDS)]
        if not same:
            continue
        left.remove(same[0])
        found = same[0][0] * NANOSECONDS.get(same[0][1], 1)
        if found > wanted if bound == "<=" else found < wanted:
            return True
    return False


OWN_TABLES = ["overlap", "all_reduce", "all_reduce_4_gpus", "matmul", "copy_strategies"]


def figures(results, *only):
    rows = []
    for what, target, name, path, form in FIGURES:
        if name not in only if only else name in OWN_TABLES:
            continue
        file = results / f"{name}.json"
        if file.exists():
            try:
                all_figures = json.loads(file.read_text())["figures"]
                found = record(all_figures, path)
                value = form(found, all_figures) if callable(form) else form.format(**found)
            except (KeyError, StopIteration):  # a peer that was not installed, a quick run
                value = "*not in this result*"
            if missed(target, value):
                value = f"**missed**: {value}"
            rows.append(f"| {what} | {target} | {value} | [{name}](benchmarks/results/{file.name}) |\n")
    if not rows:
        return NOTHING_YET
    return "| what | target | measured | result |\n|---|---|---|---|\n" + "".join(rows)


RENDERERS = {"report": report, "source": source, "figures": figures}


def filled(text, results):
    def fill(part):
        opening, kind, arguments, closing = part.groups()
        if kind not in RENDERERS:
            sys.exit(f"`{opening.strip()}`: there is no generator of that name")
        return opening + RENDERERS[kind](results, *arguments.split()) + closing

    return PART.sub(fill, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = False
    for name in DOCUMENTS:
        path = root / name
        before = path.read_text()
        after = filled(before, root / "benchmarks" / "results")
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
