# SPDX-License-Identifier: Apache-2.0
"""Does trace_stats print what nsys printed? Compares its tables, cell by cell, with texts of `nsys stats` that authors
committed beside their exports.

real_texts.py TRACE_STATS RECORD REPOSITORIES [--json OUT.json]

RECORD is the JSON of real_exports.py, which names exports by repository, path and git blob. REPOSITORIES is a folder
with a bare clone of each, named owner+name. Every file there with a table of nsys is read. Of all exports of the
repository, a table is held against the one that agrees in most cells. A table with no row of that export's times is of
a run whose export nobody committed, and is counted apart.

Names are compared as far as nsys printed them. The versions of 2021 cut numbers to whole ones where the locale has a
decimal comma, and such texts are held against whole numbers. Tables in KiB, as versions before 2021 print them, are left out.
"""
import argparse
import collections
import datetime
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

# Words in the line above a table, of versions from 2020 on, and the report of the same rows.
TABLES = [("cuda_api_sum", "Name", "Num Calls", ("'cuda_api_sum", "'cudaapisum", "CUDA API S")),
          ("cuda_gpu_kern_sum", "Name", "Instances", ("'cuda_gpu_kern_sum", "'gpukernsum", "CUDA Kernel Statistics",
                                                      "CUDA GPU Kernel Summary")),
          ("cuda_gpu_mem_time_sum", "Operation", "Count", ("'cuda_gpu_mem_time_sum", "'gpumemtimesum", "(by time)",
                                                           "MemOps Summary (by Time)")),
          ("cuda_gpu_mem_size_sum", "Operation", "Count", ("'cuda_gpu_mem_size_sum", "'gpumemsizesum", "(by size",
                                                           "MemOps Summary (by Size)")),
          ("osrt_sum", "Name", "Num Calls", ("'osrt_sum", "'osrtsum", "Operating System Runtime API S",
                                             "OS Runtime Summary")),
          ("nvtx_sum", "Range", "Instances", ("'nvtx_sum", "'nvtxsum", "Push-Pop Range Statistics",
                                              "NVTX Range S"))]
# Heads of columns, and ours.
COLUMNS = {"Time(%)": "Time (%)", "Total Time": "Total Time (ns)", "Average": "Avg (ns)", "Average (ns)": "Avg (ns)",
           "Median": "Med (ns)", "Median (ns)": "Med (ns)", "Minimum": "Min (ns)", "Minimum (ns)": "Min (ns)",
           "Maximum": "Max (ns)", "Maximum (ns)": "Max (ns)", "StdDev": "StdDev (ns)", "Operations": "Count"}
COUNTS = ("Num Calls", "Instances", "Count")
NAMES = ("Name", "Operation", "Range")
DIRECTIONS = {"HtoD": "Host-to-Device", "DtoH": "Device-to-Host", "DtoD": "Device-to-Device", "PtoP": "Peer-to-Peer"}


def tables_of(text):
    """(report, its names, its counts, heads, rows) of each table."""
    lines, seen = text.splitlines(), set()
    for at, line in enumerate(lines):
        known = next((each[:3] for each in TABLES if any(word in line for word in each[3])), None)
        rule = next((i for i in range(at + 2, min(at + 6, len(lines)))
                     if re.fullmatch(r"[\s-]*---[\s-]*", lines[i])), None) if known else None
        if rule is None or rule in seen or "KiB" in line:
            continue
        seen.add(rule)  # the report and the table may both have a line above it
        heads = [lines[rule - 1][each.start():each.end()].strip() for each in re.finditer(r"-+", lines[rule])]
        rows = []
        for row in lines[rule + 1:]:
            if not re.match(r"\s*\d[\d.,]*\s", row):
                break
            rows.append([each.strip() for each in row.split(None, len(heads) - 1)])
        if rows and all(len(row) == len(heads) for row in rows):
            yield *known, [COLUMNS.get(each, each) for each in heads], rows


def as_text(path, content):
    """What a notebook printed is lines of JSON."""
    return re.sub(r'(?m)^ *"(.*?)(\\\\n)?",?$', r"\1", content) if path.endswith(".ipynb") else content


def number(text, comma):
    """The value of a cell and the digits behind its point."""
    plain = text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")
    try:
        return float(plain), len(plain.partition(".")[2])
    except ValueError:
        return None, 0


def same_name(ours, printed):
    def plain(name):
        return re.sub(r"\s+", " ", name).strip().lstrip(":")
    ours, printed = plain(ours), plain(printed)
    for brief, whole in DIRECTIONS.items():
        printed = printed.replace(brief + "]", whole + "]")
    return ours.startswith(printed.rstrip("\u2026").removesuffix("..."))


def compare(ours, heads, rows, name, count):
    """(equal cells, differences, rows whose whole time agrees) of a printed table."""
    equal, lines, met, left = 0, [], 0, list(ours)
    comma = bool(re.fullmatch(r"\d+,\d", rows[0][0]))
    whole = next(each for each in heads if each.startswith("Total"))
    for cells in rows:
        printed = dict(zip(heads, cells))
        label = next(printed[each] for each in NAMES if each in printed)
        total = number(printed[whole], comma)[0] or 0
        row = min((each for each in left if same_name(each[name], label)), key=lambda each: abs(each[whole] - total),
                  default=None)
        if row is None:
            lines.append(f"no row {label[:50]}")
            continue
        left.remove(row)
        printed_count = number(next(printed[each] for each in COUNTS if each in printed), comma)[0]
        met += abs(row[whole] - total) < 0.001 and row[count] == printed_count
        for head, cell in printed.items():
            mine = row[name if head in NAMES else count if head in COUNTS else head]
            value, digits = number(cell, comma)
            good = (head in NAMES or mine == cell or value is not None and isinstance(mine, (int, float))
                    and (math.floor(mine) == value if comma else abs(mine - value) <= 0.5000001 * 10 ** -digits))
            equal += good
            if not good:
                lines.append(f"{label[:40]}, {head}: nsys {cell}, ours {mine}")
    return equal, lines + [f"nsys has no {each[name][:50]}" for each in left], met


def git(repository, *words):
    return subprocess.run(["git", "-C", repository, *words], capture_output=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", metavar="TRACE_STATS")
    parser.add_argument("record", type=pathlib.Path, metavar="RECORD")
    parser.add_argument("repositories", type=pathlib.Path, metavar="REPOSITORIES")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    exports = collections.defaultdict(list)
    for repository, path, blob, *_ in json.loads(options.record.read_text())["figures"]["exports"]:
        exports[repository].append((path, blob))
    rows, apart, compared = [], 0, set()
    with tempfile.TemporaryDirectory() as folder:
        for repository, those in sorted(exports.items()):
            clone = next(iter(options.repositories.glob(repository.replace("/", "+") + "/**/HEAD"))).parent
            texts = git(clone, "grep", "-I", "-l", "-e", "Total Time", "HEAD").decode().splitlines()
            tables = [(text.partition(":")[2], *table) for text in texts
                      for table in tables_of(as_text(text, git(clone, "show", text).decode("utf-8", "replace")))]
            told = {}
            for path, blob in dict.fromkeys(those) if tables else []:
                file = pathlib.Path(folder) / "one.sqlite"
                file.write_bytes(git(clone, "cat-file", "blob", blob))
                for report in {table[1] for table in tables}:
                    run = subprocess.run([options.program, file, "--json", "--report", report], capture_output=True)
                    ours = json.loads(run.stdout.decode("utf-8", "replace")) if run.returncode == 0 else []
                    told[path, blob, report] = ours
            same_run = set()  # sizes are alike in many runs, so that times decide which run a text tells
            for text, report, name, count, heads, printed in sorted(tables, key=lambda table: "size" in table[1]):
                found = {key: compare(ours, heads, printed, name, count) for key, ours in told.items()
                         if key[2] == report}
                best = max(found, key=lambda key: ((text, key[1]) in same_run, found[key][2], found[key][0]))
                equal, lines, met = found[best]
                if met == 0 or "size" in report and (text, best[1]) not in same_run:
                    apart += 1
                    continue
                same_run.add((text, best[1]))
                compared.add(best[:2] + (repository,))
                rows.append([repository, best[0], best[1], text, report, len(printed), equal, len(lines)])
                for line in lines:
                    print(f"{repository} {best[0]} {text} {report}: {line}")
    figures = {"tables": len(rows), "tables_with_differences": sum(row[-1] > 0 for row in rows),
               "cells": sum(row[-2] for row in rows), "exports": len(compared), "texts": len({tuple(row[0:4:3]) for row in rows}),
               "repositories": len({row[0] for row in rows}), "tables_of_runs_without_export": apart}
    print(json.dumps(figures))
    if options.json:
        commit = git(pathlib.Path(__file__).parent, "rev-parse", "--short=8", "HEAD").decode().strip()
        head = {"schema": "assay.benchmark", "schema_version": 1, "benchmark": "real_texts",
                "environment": {"started_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                                "commit": commit,
                                "command_line": "real_texts.py trace_stats real_exports.json REPOSITORIES --json real_texts.json"},
                "figures": {**figures, "columns": ["repository", "export", "blob", "text", "report", "rows", "equal_cells",
                                                   "differences"], "compared": "ROWS"}}
        body = ",\n".join("   " + json.dumps(row) for row in rows)
        options.json.write_text(json.dumps(head, indent=1).replace('"ROWS"', "[\n" + body + "\n  ]") + "\n")
    return 1 if figures["tables_with_differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
