# SPDX-License-Identifier: Apache-2.0
"""Does trace_stats add up what an export of nsys holds? Compares its sums with those of plain SQL, name by name, over
exports that their authors made public.

real_exports.py TRACE_STATS LIST [--json OUT.json]

LIST has a line for each export: repository, path in it, git blob, and the file here, with tabs between. Exports
are not part of this repository: the record names each one, so that it can be found and checked again. What is
compared, for each file:

- kernels by demangled name, copies and memsets by direction, calls of CUDA and of the system by name, push/pop and
  start/end ranges together: the number, the sum of times, the shortest and the longest, in nanoseconds
- bytes of copies and memsets by direction, in the last digit that is printed

A row whose times SQL cannot subtract, or whose begin and end are zero, counts for neither. A file that both cannot
read is no export and is told.
"""
import argparse
import collections
import datetime
import json
import pathlib
import sqlite3
import subprocess
import sys

COPIES = ("Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array",
          "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer",
          "Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device")
COLUMNS = ("repository", "path", "blob", "bytes", "schema", "kernels", "kernel_ns", "copies", "copy_ns",
           "copied_bytes", "calls", "call_ns", "system_calls", "system_call_ns", "ranges", "range_ns", "devices",
           "processes", "differences")
REPORTS = {"kernels": ("cuda_gpu_kern_sum", "Name", "Instances"),
           "copies": ("cuda_gpu_mem_time_sum", "Operation", "Count"),
           "calls": ("cuda_api_sum", "Name", "Num Calls"),
           "system_calls": ("osrt_sum", "Name", "Num Calls"),
           "ranges": ("nvtx_sum", "Style", "Instances")}


class Export:
    """The sums of one file, as SQL gives them."""

    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.text_factory = lambda text: text.decode("utf-8", "replace")
        self.tables = {name for name, in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def columns(self, table):
        return [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")]

    def schema(self):
        if "META_DATA_EXPORT" not in self.tables:
            return "before 3"
        told = dict(self.db.execute("SELECT name, value FROM META_DATA_EXPORT"))
        return told.get("EXPORT_SCHEMA_VERSION", "not told")

    def times(self, table, name, condition="1"):
        """Count, sum, shortest and longest by an expression of a name."""
        if table not in self.tables:
            return {}
        return {key if key is None or isinstance(key, int) and name == "t.copyKind" else str(key): row for key, *row in self.db.execute(
            f"SELECT {name}, COUNT(*), SUM(t.end - t.start), MIN(t.end - t.start), MAX(t.end - t.start) "
            f"FROM {table} t WHERE ({condition}) AND t.end >= t.start AND NOT (t.start = 0 AND t.end = 0) GROUP BY 1")}

    def text(self, columns, table):
        """The text that the first of these columns names which the table has."""
        known = [each for each in columns if each in self.columns(table)]
        found = ", ".join(f"(SELECT value FROM StringIds WHERE id = t.{each}), t.{each}" for each in known)
        return f"COALESCE({found}, '')" if known else "''"

    def call_name(self, table):
        name = self.text(["nameId"], table)
        return f"CASE WHEN {name} GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr({name}, 1, length({name}) - 6) ELSE {name} END"

    def kernels(self):
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        return self.times(table, self.text(["demangledName", "shortName"], table) if table in self.tables else "''")

    def copies(self):
        found = self.times("CUPTI_ACTIVITY_KIND_MEMCPY", "t.copyKind")
        named = {f"[CUDA memcpy {COPIES[kind] if kind < len(COPIES) else COPIES[0]}]": row
                 for kind, row in found.items()}
        sets = self.times("CUPTI_ACTIVITY_KIND_MEMSET", "'[CUDA memset]'")
        return named | sets

    def copied(self):
        total = {}
        for table, name in (("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind"), ("CUPTI_ACTIVITY_KIND_MEMSET", "-1")):
            if table in self.tables:
                total |= dict(self.db.execute(f"SELECT {name}, SUM(bytes) FROM {table} GROUP BY 1"))
        return {"[CUDA memset]" if kind == -1 else f"[CUDA memcpy {COPIES[kind]}]": count or 0
                for kind, count in total.items()}

    def calls(self):
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        return self.times(table, self.call_name(table)) if table in self.tables else {}

    def system_calls(self):
        table = "OSRT_API"
        if table not in self.tables:
            return {}
        only = "t.eventClass = 27" if "eventClass" in self.columns(table) else "1"
        return self.times(table, self.call_name(table), only)

    def ranges(self):
        """By style. Ranges without an end end with the trace, which SQL does not tell: those files are left out."""
        types = {"PushPop": (59, 70), "StartEnd": (60, 71)}
        if "NVTX_EVENTS" not in self.tables:
            return {}
        kinds = ", ".join(str(each) for some in types.values() for each in some)
        if self.db.execute(f"SELECT COUNT(*) FROM NVTX_EVENTS WHERE eventType IN ({kinds}) AND end IS NULL").fetchone()[0]:
            return None
        style = "CASE WHEN t.eventType IN (59, 70) THEN 'PushPop' ELSE 'StartEnd' END"
        return self.times("NVTX_EVENTS", style, f"t.eventType IN ({kinds})")

    def distinct(self, column):
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        if table not in self.tables or column not in self.columns(table):
            return 0
        return self.db.execute(f"SELECT COUNT(DISTINCT {column}) FROM {table}").fetchone()[0]


def told(program, path, report):
    """The rows of a report, or the reason why there is none."""
    run = subprocess.run([program, path, "--json", "--report", report], capture_output=True)
    if run.returncode != 0:
        return None, run.stderr.decode("utf-8", "replace").strip()
    return json.loads(run.stdout.decode("utf-8", "replace")), ""


def by_name(rows, name, count):
    """Rows of a report by one of its columns: those of one name are added up."""
    found = {}
    for row in rows:
        new = [row[count], row["Total Time (ns)"], row["Min (ns)"], row["Max (ns)"]]
        old = found.get(row[name])
        found[row[name]] = new if old is None else [old[0] + new[0], old[1] + new[1], min(old[2], new[2]),
                                                    max(old[3], new[3])]
    return found


def differences(export, program, path):
    """What differs, as lines, and the sums of SQL."""
    lines, sums = [], {}
    for what, (report, name, count) in REPORTS.items():
        expected = getattr(export, what)()
        rows, why = told(program, path, report)
        if rows is None:
            return [f"{report}: {why}"], sums
        if expected is None:
            continue
        sums[what] = [sum(row[i] for row in expected.values()) for i in (0, 1)]
        got = by_name(rows, name, count)
        for key in sorted(set(expected) | set(got)):
            if expected.get(key) != got.get(key):
                lines.append(f"{report} {key[:60]}: SQL {expected.get(key)}, trace_stats {got.get(key)}")
    copied = export.copied()
    rows, _ = told(program, path, "cuda_gpu_mem_size_sum")
    got = {row["Operation"]: row["Total (MB)"] for row in rows or []}
    for key in sorted(set(copied) | set(got)):
        if abs(copied.get(key, 0) / 1e6 - got.get(key, 0)) > 0.00051:
            lines.append(f"bytes {key}: SQL {copied.get(key)}, trace_stats {got.get(key)} MB")
    sums["copied_bytes"] = sum(count for kind, count in copied.items())
    return lines, sums


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", metavar="TRACE_STATS")
    parser.add_argument("list", type=pathlib.Path, metavar="LIST")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows, schemas, different, no_ranges = [], collections.Counter(), 0, 0
    for line in options.list.read_text().splitlines():
        repository, path, blob, file = line.split("\t")
        export = Export(file)
        lines, sums = differences(export, options.program, file)
        for each in lines:
            print(f"{repository} {path} {blob[:8]}: {each}")
        different += bool(lines)
        no_ranges += "ranges" not in sums
        schemas[export.schema()] += 1
        found = {"repository": repository, "path": path, "blob": blob, "bytes": pathlib.Path(file).stat().st_size,
                 "schema": export.schema(), "devices": export.distinct("deviceId"),
                 "processes": export.distinct("globalPid"), "copied_bytes": sums.get("copied_bytes"),
                 "differences": len(lines)}
        for what, sum_name in (("kernels", "kernel_ns"), ("copies", "copy_ns"), ("calls", "call_ns"),
                               ("system_calls", "system_call_ns"), ("ranges", "range_ns")):
            found[what], found[sum_name] = sums.get(what, (None, None))
        rows.append([found[each] for each in COLUMNS])
    total = {each: sum(row[COLUMNS.index(each)] or 0 for row in rows) for each in ("kernels", "copies", "calls")}
    figures = {"files": len(rows), "files_with_differences": different, "repositories": len({row[0] for row in rows}),
               "schemas": dict(sorted(schemas.items())), "files_whose_ranges_do_not_all_end": no_ranges, **total}
    print(json.dumps(figures))
    if options.json:
        commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True,
                                cwd=pathlib.Path(__file__).parent).stdout.strip()
        head = {"schema": "assay.benchmark", "schema_version": 1, "benchmark": "real_exports",
                "environment": {"started_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                                "commit": commit,
                                "command_line": "real_exports.py trace_stats LIST --json real_exports.json"},
                "figures": {**figures, "columns": list(COLUMNS), "exports": "ROWS"}}
        body = ",\n".join("   " + json.dumps(row) for row in rows)
        options.json.write_text(json.dumps(head, indent=1).replace('"ROWS"', "[\n" + body + "\n  ]") + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
