# SPDX-License-Identifier: Apache-2.0
"""How often does `assay_compare --nvbench OLD NEW` call equal builds different, and how long does a state take?

OLD and NEW are two builds of one benchmark of nvbench, such as `judges/equal_states` and a copy of it. Each GPU of
CUDA_VISIBLE_DEVICES, or of the machine, has a worker that compares all states again and again. After --seconds it keeps
the states that are done, without a time, since their runs were also for the states that are not. The answers join --json,
so further calls add to it. Predicts: at most 9 false of 100 states, at most 10 s a state.

  python3 benchmarks/nvbench_equal.py assay_compare judges/equal_states ./a_copy --seconds 150 --json nvbench_equal.json
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def devices():
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        named = ",".join(re.findall(r"^GPU (\d+):", subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout, re.MULTILINE))
    return named.split(",")


def compared(options, device, limit):
    """One answer for each state that is done in time: its name, its verdict and its share of the time."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        running = subprocess.Popen([options.compare, "--nvbench", options.old, options.new, "--quiet", "--labels", "old,new",
                                    "--json", f"{folder}/x.json"], env=os.environ | {"CUDA_VISIBLE_DEVICES": device},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            output = running.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # the states before are written
            output = running.communicate()[0]
        seconds, cut_off = time.monotonic() - begin, running.returncode == 4
        found = [json.loads(each.read_text()) for each in sorted(pathlib.Path(folder).glob("*.json"))]
        if running.returncode not in (0, 4) or (cut_off and seconds < limit):
            sys.exit(f"exit code {running.returncode}\n{output}")
        rows = []
        for each in found:
            first = next(finding for finding in each["findings"] if finding["primary"])
            if not each["failure"]:
                rows.append({"state": each["title"].split(": ")[0], "epochs": each["epochs"],
                             "seconds": None if cut_off else seconds / len(found),
                             **{name: first[name] for name in ("verdict", "ratio", "low", "high", "reason") if name in first}})
        return rows, found[0]["environment"] if found else {}


def work(options, device):
    end, rows, environment = time.monotonic() + options.seconds, [], {}
    while (begin := time.monotonic()) < end - 1:
        made, where = compared(options, device, end - begin)
        rows, environment = rows + made, where or environment
        print(f"GPU {device}: {len(made)} states in {time.monotonic() - begin:.1f} s", flush=True)
    return rows, environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("compare", "old", "new"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="", help="of assay_compare")
    options = parser.parse_args()
    before = json.loads(options.json.read_text()) if options.json.exists() else {"figures": {"rows": []}, "environment": {}}
    rows, environment = before["figures"]["rows"], before["environment"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for made, where in pool.map(lambda device: work(options, device), devices()):
            rows, environment = rows + made, where or environment
    if not rows:
        sys.exit("no comparison ended in time: give more --seconds")
    verdicts = collections.Counter(each["verdict"] for each in rows)
    seconds = [each["seconds"] for each in rows if each["seconds"] is not None]
    figures = {"equal": {"states": len(rows), "false": verdicts["FASTER"] + verdicts["SLOWER"], "verdicts": dict(verdicts),
                         "mean_seconds": sum(seconds) / len(seconds) if seconds else None, "max_seconds": max(seconds, default=None)}, "rows": rows}
    print(json.dumps(figures["equal"], indent=1))
    options.json.write_text(json.dumps(
        {"schema": "assay.benchmark", "schema_version": 1, "benchmark": "nvbench_equal",
         "environment": {**environment, "commit": options.commit, "command_line": "python3 benchmarks/nvbench_equal.py"},
         "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
