# SPDX-License-Identifier: Apache-2.0
"""Gives the same pairs of kernels to assay and to the judges that people use, and counts what they say.

    python3 judges.py --folder BUILD/benchmarks/judges --json judges.json --minutes 8

A pair is a kernel of judged.cu and the same with 0, 0.3, 1 or 3 % more work; equal pairs come twice a round. `--folder` has
judges_assay, judges_nvbench and libjudged.so. The scripts that compare are those of the Python package cuda-bench. No
step begins after `--minutes`; one takes up to 40 s. A later run with the same file continues it.
"""
import argparse
import collections
import ctypes
import datetime
import glob
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

EXTRAS = (0, 0, 0.003, 0.01, 0.03)
REPEATED = 2  # comparisons by a judge that takes less than a second, for one by nvbench
NVBENCH = ("--no-batch",)  # its batches are not what the scripts compare
SCRIPTS = {"nvbench robust": "nvbench_compare_robust.py", "nvbench old": "nvbench_compare.py"}
STATUS = {"SLOW": "slower", "FAST": "faster", "SAME": "same", "AMBG": "undecided", "????": "undecided"}
VERDICT = {"SLOWER": "slower", "FASTER": "faster", "EQUIVALENT": "same", "INCONCLUSIVE": "undecided", "UNPROVEN": "undecided"}
THRESHOLD = 0.01
SETTINGS = {
    "assay": "`compare` with its defaults: factories, margin 1 %, alpha 5 %",
    "assay, sign": "the same with `run_until_sign`",
    "nvbench robust": f"`nvbench_compare_robust.py` with its defaults, one run of each program with `{' '.join(NVBENCH)}`",
    "nvbench old": "`nvbench_compare.py` on the same two files",
    "Mann-Whitney": "two-sided, p < 0.05, on the launches in the same two files",
    "do_bench": "`triton.testing.do_bench` with its defaults, medians, threshold 1 %",
}


def status_in(text, kind):
    """What a script of nvbench says in its table of the one state of that kind."""
    found = [re.search(r"\b(SLOW|FAST|SAME|AMBG)\b|\?{4}", line) for line in text.splitlines()
             if line.startswith("|") and re.search(rf"\b{kind}\b", line)]
    if len(found) != 1 or found[0] is None:
        raise RuntimeError(f"no row of {kind} with a status in:\n{text}")
    return STATUS[found[0][0]]


def times_of(file):
    """Seconds of each launch, which nvbench wrote beside its JSON, and their mean."""
    (state,) = json.loads(file.read_text())["benchmarks"][0]["states"]
    if state.get("is_skipped"):
        raise RuntimeError(f"nvbench skips it: {state.get('skip_reason')}")
    values = {each["tag"]: {part["name"]: part["value"] for part in each["data"]} for each in state["summaries"]}
    name = pathlib.Path(values["nv/json/bin:nv/cold/sample_times"]["filename"])
    name = file.parent / name if (file.parent / name).exists() else name
    return numpy.fromfile(name, dtype=numpy.float32).astype(float), float(values["nv/cold/time/gpu/mean"]["value"])


def mann_whitney(old, new):
    """The two-sided p of the normal approximation with ties, and whether the new ones rank higher."""
    _, place, times = numpy.unique(numpy.concatenate([old, new]), return_inverse=True, return_counts=True)
    last = numpy.cumsum(times)
    ranks = (last - (times - 1) / 2)[place.reshape(-1)]
    m, n = len(old), len(new)
    all_of = m + n
    above = ranks[m:].sum() - n * (n + 1) / 2 - m * n / 2
    variance = m * n / 12 * (all_of + 1 - (times.astype(float)**3 - times).sum() / (all_of * (all_of - 1)))
    if variance <= 0:
        return 1.0, False
    return math.erfc(max(abs(above) - 0.5, 0) / math.sqrt(2 * variance)), bool(above > 0)


def by_threshold(ratio):
    return "slower" if ratio > 1 + THRESHOLD else "faster" if ratio < 1 / (1 + THRESHOLD) else "same"


class Programs:
    """The programs of one folder, and the scripts of cuda-bench."""

    def __init__(self, folder, device, kinds):
        self.folder, self.device, self.kinds = folder.resolve(), device, kinds
        where = [pathlib.Path(each) / "cuda/bench/scripts" for each in sys.path]
        self.scripts = next((each for each in where if each.is_dir()), None)
        self.environment = dict(os.environ)
        cublas = [os.path.dirname(each) for path in sys.path for each in glob.glob(f"{path}/nvidia/*/lib/libcublas.so.13")]
        paths = [*cublas, str(self.folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.environment["LD_LIBRARY_PATH"] = ":".join(paths)

    def run(self, *words, **environment):
        """Seconds and output of a command."""
        begin = time.monotonic()
        done = subprocess.run([str(each) for each in words], capture_output=True, text=True, check=False, timeout=300,
                              env={**self.environment, **environment})
        if done.returncode not in (0, 1) or (done.returncode == 1 and not str(words[1]).endswith("nvbench_compare.py")):
            raise RuntimeError(f"{words[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return time.monotonic() - begin, done.stdout

    def nvbench(self, kind, extra):
        """The rows of the three judges that read nvbench's files."""
        with tempfile.TemporaryDirectory() as scratch:
            files = [pathlib.Path(scratch) / f"{side}.json" for side in ("old", "new")]
            seconds = sum(self.run(self.folder / "judges_nvbench", "--jsonbin", file, "--benchmark", "judged", "--axis",
                                   f"kind={kind}", "--devices", self.device, *NVBENCH, JUDGED_EXTRA=str(more))[0]
                          for file, more in zip(files, (0, extra)))
            (old, mean), (new, new_mean) = (times_of(file) for file in files)
            begin = time.monotonic()
            p, higher = mann_whitney(old, new)
            own = time.monotonic() - begin
            answers = {"Mann-Whitney": (("slower" if higher else "faster") if p < 0.05 else "same", own)}
            for judge, script in SCRIPTS.items():
                taken, text = self.run(sys.executable, self.scripts / script, *files, "--no-color")
                answers[judge] = (status_in(text, kind), taken)
        return [{"judge": judge, "answer": answer, "ratio": new_mean / mean, "seconds": seconds + taken,
                 "command_seconds": seconds + taken, "launches": len(old) + len(new)}
                for judge, (answer, taken) in answers.items()]

    def judged(self, kind, extra, *words):
        """The result of judges_assay, and the seconds of the command."""
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "assay.json"
            taken, _ = self.run(self.folder / "judges_assay", "--kind", kind, "--extra", extra, "--device", self.device,
                                "--json", file, *words)
            return json.loads(file.read_text()), taken

    def assay(self, kind, extra, figures):
        all_of, taken = self.judged(kind, extra, "--count", REPEATED)
        found = all_of["figures"]
        figures["environment"] = all_of["environment"]
        figures["kinds"].setdefault(kind, {"seconds": found["rows"][0]["launch_seconds"], "truth": {}})
        start = taken - sum(each["call_seconds"] for each in found["rows"])
        return [{"judge": "assay, sign" if each["how"] == "sign" else "assay", "answer": VERDICT[each["outcome"]],
                 "ratio": each["ratio"], "low": each["low"], "high": each["high"], "reason": each["reason"],
                 "seconds": each["call_seconds"], "command_seconds": start + each["call_seconds"]}
                for each in found["rows"]]

    def truth(self, kind, figures):
        """Measures the slow-downs of a kind apart."""
        for extra in filter(None, EXTRAS):
            all_of, _ = self.judged(kind, extra, "--count", 0, "--truth")
            figures["kinds"][kind]["truth"][str(extra)] = all_of["figures"]["truth"]
            figures["truth_environment"] = all_of["environment"]

    def do_bench(self, pairs):
        taken, text = self.run(sys.executable, __file__, "--do-bench", json.dumps(pairs), "--folder", self.folder,
                               "--device", self.device)
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        start = taken - sum(each["seconds"] for each in rows)
        return [{**each, "command_seconds": start + each["seconds"]} for each in rows]


def do_bench(folder, device, pairs):
    """In a process of its own: prints a row for each comparison of these pairs."""
    import torch
    from triton.testing import do_bench as median_of
    torch.cuda.set_device(device)
    judged = ctypes.CDLL(str(folder / "libjudged.so"))
    judged.judged_name.restype, judged.judged_bytes.restype = ctypes.c_char_p, ctypes.c_size_t
    judged.judged_fill.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    launch = judged.judged_launch
    launch.argtypes = [ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 4]
    names = [judged.judged_name(i).decode() for i in range(judged.judged_count())]
    for name, extra in pairs:
        kind = names.index(name)
        arrays = [torch.empty(judged.judged_bytes(kind, i), dtype=torch.uint8, device="cuda") for i in range(3)]
        pointers = [each.data_ptr() for each in arrays]
        stream = torch.cuda.current_stream().cuda_stream
        for each in arrays:
            assert judged.judged_fill(each.data_ptr(), each.numel(), stream) == 0
        for more in (0, extra):
            assert launch(kind, more, *pointers, stream) == 0
        torch.cuda.synchronize()
        for _ in range(REPEATED):
            begin = time.monotonic()
            old, new = (median_of(lambda: launch(kind, more, *pointers, stream), return_mode="median") for more in (0, extra))
            print(json.dumps({"judge": "do_bench", "kind": name, "extra": extra, "answer": by_threshold(new / old),
                              "ratio": new / old, "seconds": time.monotonic() - begin}), flush=True)
        del arrays


def counts(rows):
    """Of each judge: how often it said what, of equal pairs and of each slow-down, and its seconds."""
    found = {}
    for judge in SETTINGS:
        own = [each for each in rows if each["judge"] == judge]
        said = {extra: collections.Counter(each["answer"] for each in own if each["extra"] == extra)
                for extra in sorted({each["extra"] for each in own})}
        equal = said.pop(0, collections.Counter())
        commands = [each["command_seconds"] for each in own if each["command_seconds"] is not None]
        found[judge] = {
            "settings": SETTINGS[judge],
            "equal": {"pairs": equal.total(), "false": equal["slower"] + equal["faster"], "undecided": equal["undecided"]},
            "slower": [{"extra": extra, "pairs": each.total(), "found": each["slower"], "wrong_sign": each["faster"],
                        "undecided": each["undecided"]} for extra, each in said.items()],
            "median_seconds": statistics.median(each["seconds"] for each in own) if own else None,
            "max_seconds": max((each["seconds"] for each in own), default=None),
            "median_command_seconds": statistics.median(commands) if commands else None}
    return found


def steps(rounds, kinds):
    """Names of steps, in an order that differs from round to round, with their pairs."""
    for number in range(rounds):
        pairs = [(index, kind, extra) for kind in kinds for index, extra in enumerate(EXTRAS)]
        random.Random(number).shuffle(pairs)
        yield f"{number} do_bench", [(kind, extra) for _, kind, extra in pairs]
        for index, kind, extra in pairs:
            yield f"{number} {kind} {index}", [(kind, extra)]
    for kind in kinds:
        yield f"{kind} truth", [(kind, 0)]


def save(path, figures):
    figures["judges"] = counts(figures["rows"])
    environment = dict(figures.get("environment", {}), command_line="python3 judges.py")
    whole = {"schema": "assay.benchmark", "schema_version": 1, "benchmark": "judges", "environment": environment,
             "figures": {name: each for name, each in figures.items() if name != "environment"}}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(whole, indent=1) + "\n")
    part.replace(path)


def measure(programs, path, rounds, minutes):
    """Runs the steps that are not done yet. Returns the number of steps that are left."""
    begin = time.monotonic()
    figures = {"rows": [], "done": [], "kinds": {}, "runs": []}
    if path.exists():
        before = json.loads(path.read_text())
        figures = {**before["figures"], "environment": before["environment"]}
    run = {"started_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "device": "", "commit": ""}
    left = 0
    for name, pairs in steps(rounds, programs.kinds):
        if name in figures["done"]:
            continue
        if time.monotonic() - begin > 60 * minutes:
            left += 1
            continue
        if run not in figures["runs"]:
            figures["runs"].append(run)
        if name.endswith("do_bench"):
            rows = programs.do_bench(pairs)
        elif name.endswith("truth"):
            programs.truth(pairs[0][0], figures)
            rows = []
        else:
            ((kind, extra),) = pairs
            rows = [{"kind": kind, "extra": extra, **each}
                    for each in (*programs.nvbench(kind, extra), *programs.assay(kind, extra, figures))]
            run.update({key: figures["environment"].get(key, "") for key in ("device", "commit")})
        figures["rows"] += [{**each, "run": len(figures["runs"])} for each in rows]
        figures["done"].append(name)
        save(path, figures)
        said = collections.Counter(f"{each['judge']} {each['answer']}" for each in rows)
        print(f"{time.monotonic() - begin:5.0f} s  {name}: "
              + ", ".join(f"{count} {each}" for each, count in said.items()), flush=True)
    return left


def told(figures):
    for judge, found in figures["judges"].items():
        if not found["equal"]["pairs"]:
            continue
        slower = ", ".join(f"{each['extra']:.1%} in {each['found']} of {each['pairs']} ({each['undecided']} undecided)"
                           for each in found["slower"])
        print(f"{judge:15} {found['equal']['false']} false of {found['equal']['pairs']} ({found['equal']['undecided']} "
              f"undecided); found {slower}; {found['median_seconds']:.2f} s, at most {found['max_seconds']:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", help="these alone: A,B")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--do-bench", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.do_bench:
        do_bench(options.folder, options.device, json.loads(options.do_bench))
        return
    source = (pathlib.Path(__file__).parent / "judged.cu").read_text()
    kinds = options.kinds.split(",") if options.kinds else re.findall(r'^    \{"(\w+)"', source, re.MULTILINE)
    programs = Programs(options.folder, options.device, kinds)
    if programs.scripts is None:
        sys.exit("judges.py: no cuda/bench/scripts in sys.path: `pip install cuda-bench tabulate colorama`")
    left = measure(programs, options.json, options.rounds, options.minutes)
    if options.json.exists():
        told(json.loads(options.json.read_text())["figures"])
    if left:
        print(f"missing: {left} steps; the same command continues")


if __name__ == "__main__":
    main()
