# SPDX-License-Identifier: Apache-2.0
"""Holds a trace of ours against Holistic Trace Analysis: holistic_trace_analysis.py PROGRAM, which is
built from holistic_trace_analysis_sample.cpp.

Exit code 77 where HTA (HolisticTraceAnalysis in the package index) is not installed for the Python
that runs this.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings


def ours(path):
    """Kernel name -> (total, count, shortest, longest) in nanoseconds."""
    rows = {}
    for line in path.read_text().splitlines():
        total, count, shortest, longest, name = line.split("\t", 4)
        rows[json.loads(name)] = (int(total), int(count), int(shortest), int(longest))
    return rows


def theirs(path):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    frame = analysis.t.get_trace(0)
    kernels = frame[frame["stream"].ne(-1)].copy()
    symbols = analysis.t.symbol_table.get_sym_table()
    kernels["name"] = kernels["name"].map(lambda number: symbols[number])
    _, breakdown = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1000,
                                                       include_memory_kernels=False)
    times = analysis.get_temporal_breakdown(visualize=False)
    return breakdown, kernels, times


def main():
    if importlib.util.find_spec("hta") is None:
        print("skipped: HolisticTraceAnalysis is not installed for", sys.executable)
        sys.exit(77)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        trace, kernels = pathlib.Path(folder, "trace.json"), pathlib.Path(folder, "kernels.tsv")
        subprocess.run([sys.argv[1], trace, kernels], check=True)
        expected = ours(kernels)
        breakdown, rows, times = theirs(trace)

    wrong = []
    seen = {row["name"]: row for _, row in breakdown.iterrows()}
    if set(seen) != set(expected):
        wrong.append(f"kernels: {sorted(seen)} instead of {sorted(expected)}")
    counts = rows["name"].value_counts()
    for name, (total, count, shortest, longest) in expected.items():
        if name not in seen:
            continue
        row = seen[name]
        for what, microseconds, nanoseconds in (("sum", row["sum (us)"], total), ("min", row["min (us)"], shortest),
                                                ("max", row["max (us)"], longest)):
            if abs(microseconds * 1000 - nanoseconds) > 1e-3 * max(1, count):
                wrong.append(f"{name[:40]!r}: {what} {microseconds} us instead of {nanoseconds} ns")
        if counts[name] != count:
            wrong.append(f"{name[:40]!r}: {counts[name]} times instead of {count}")
    if not times["compute_time(us)"].iloc[0] > 0:
        wrong.append(f"temporal breakdown: {times}")
    print("\n".join(wrong) or f"{len(expected)} kernels, {sum(row[1] for row in expected.values())} runs: the same")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
