# SPDX-License-Identifier: Apache-2.0
"""benchmarks/judges/judges.py reads each judge's answer rightly. Programs stand in for those that need a GPU: they write files
of the same form. The scripts of cuda-bench judge where they are in PYTHONPATH, and stand-ins with the same tables elsewhere."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "benchmarks" / "judges"))
import judges  # noqa: E402
import numpy  # noqa: E402

ROBUST = """# judged

## [0] a GPU

|    kind    |        Ref Interval |        Cmp Interval |   %Diff |  Status  |
|------------|---------------------|---------------------|---------|----------|
| cub_sum    |  10.0 us, 10.1 us   |  10.3 us, 10.4 us   |   3.00% | \U0001F534 SLOW  |

# Summary

- Total Matches: 1
  - Unchanged   (classified as SAME): 0
"""

# A program that was built with nvbench, as far as judges.py and the scripts see it.
NVBENCH = '''#!{python}
import json, os, pathlib, sys
import numpy
words = sys.argv[1:]
file = pathlib.Path(words[words.index("--jsonbin") + 1])
kind = words[words.index("--axis") + 1].removeprefix("kind=")
assert words[words.index("--benchmark") + 1] == "judged" and "--no-batch" in words
extra = float(os.environ["JUDGED_EXTRA"])
samples = (1e-5 * (1 + extra) * (1 + 1e-3 * numpy.random.default_rng(1).random(2000))).astype(numpy.float32)
folder = file.parent / (file.name + "-bin")
folder.mkdir()
samples.tofile(folder / "0.bin")
numpy.full(len(samples), 1.98e9, dtype=numpy.float32).tofile(folder / "1.bin")
def number(tag, value):
    return {{"tag": tag, "name": tag, "hint": "duration", "data": [{{"name": "value", "type": "float64", "value": str(value)}}]}}
def binary(tag, name):
    return {{"tag": tag, "name": tag, "data": [
        {{"name": "filename", "type": "string", "value": f"{{folder.name}}/{{name}}"}},
        {{"name": "size", "type": "int64", "value": str(len(samples))}}]}}
q1, median, q3 = numpy.quantile(samples, [0.25, 0.5, 0.75])
at = "nv/cold/time/gpu/"
summaries = [number(at + name, value) for name, value in (
    ("min", samples.min()), ("max", samples.max()), ("mean", samples.mean()), ("q1", q1), ("median", median), ("q3", q3),
    ("stdev/absolute", samples.std()), ("stdev/relative", samples.std() / samples.mean()), ("iqr/absolute", q3 - q1),
    ("iqr/relative", (q3 - q1) / median))]
summaries += [number("nv/cold/sm_clock_rate/mean", 1.98e9), binary("nv/json/bin:nv/cold/sample_times", "0.bin"),
              binary("nv/json/freqs-bin:nv/cold/sample_freqs", "1.bin")]
axis = {{"name": "kind", "type": "string", "flags": "", "values": [{{"input_string": kind, "description": "", "value": kind}}]}}
state = {{"name": f"Device=0 kind={{kind}}", "device": 0, "type_config_index": 0, "is_skipped": False, "summaries": summaries,
          "axis_values": [{{"name": "kind", "type": "string", "value": kind}}]}}
version = {{"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}}
file.write_text(json.dumps({{
    "meta": {{"argv": [], "version": {{"json": version, "nvbench": version}}}}, "devices": [{{"id": 0, "name": "a GPU"}}],
    "benchmarks": [{{"name": "judged", "index": 0, "devices": [0], "axes": [axis], "states": [state]}}]}}))
'''

ASSAY = '''#!{python}
import json, pathlib, sys
words = sys.argv[1:]
extra, count = (float(words[words.index(each) + 1]) for each in ("--extra", "--count"))
rows = [{{"outcome": {{0: "EQUIVALENT", 0.003: "INCONCLUSIVE"}}.get(extra, "SLOWER"), "ratio": 1 + extra, "low": 1, "high": 1,
          "reason": "", "launch_seconds": 1e-5, "call_seconds": 0.25, "how": how}} for how in (["default"] * int(count) + ["sign"] if count else [])]
found = {{"rows": rows, **({{"truth": [extra]}} if "--truth" in words else {{}})}}
pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps({{
    "figures": found, "environment": {{"device": "a GPU", "commit": "0123456"}}}}))
'''

SCRIPT = '''import json, pathlib, sys
old, new = (json.loads(pathlib.Path(each).read_text())["benchmarks"][0]["states"][0] for each in sys.argv[1:3])
means = [next(float(each["data"][0]["value"]) for each in state["summaries"] if each["tag"].endswith("gpu/mean"))
         for state in (old, new)]
said = "SLOW" if means[1] > 1.0005 * means[0] else "SAME"
print("| kind | Status |")
print(f"| {old['axis_values'][0]['value']} | {said} |")
sys.exit(said == "SLOW" and sys.argv[0].endswith("nvbench_compare.py"))
'''


class Judges(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name, text in (("judges_nvbench", NVBENCH), ("judges_assay", ASSAY)):
            file = self.folder / name
            file.write_text(text.format(python=sys.executable))
            file.chmod(0o755)
        self.programs = judges.Programs(self.folder, 0, ["cub_sum"])
        self.programs.do_bench = lambda pairs: [
            {"judge": "do_bench", "kind": kind, "extra": extra, "answer": judges.by_threshold(1 + extra), "ratio": 1 + extra,
             "seconds": 0.1, "command_seconds": 5.0} for kind, extra in pairs]
        if self.programs.scripts is None:
            self.programs.scripts = self.folder
            for script in judges.SCRIPTS.values():
                (self.folder / script).write_text(SCRIPT)

    def test_the_status_is_that_of_the_one_row(self):
        self.assertEqual(judges.status_in(ROBUST, "cub_sum"), "slower")
        self.assertEqual(judges.status_in(ROBUST.replace("SLOW", "????"), "cub_sum"), "undecided")
        for text in (ROBUST.replace("SLOW", "odd"), ROBUST.replace("cub_sum", "other"), ROBUST + "| cub_sum | SAME |\n"):
            with self.assertRaisesRegex(RuntimeError, "no row of cub_sum"):
                judges.status_in(text, "cub_sum")

    def test_mann_whitney(self):
        low, high = numpy.arange(5.0), numpy.arange(5.0) + 5
        # U is 25 of 12.5 expected, its variance 275 / 12: (12.5 - 0.5) / 4.787 is 2.507 deviations.
        p, higher = judges.mann_whitney(low, high)
        self.assertAlmostEqual(p, 0.01219, places=4)
        self.assertTrue(higher)
        self.assertFalse(judges.mann_whitney(high, low)[1])
        # Ranks 1.5, 1.5, 3.5 against 3.5, 5.5, 5.5: U is 8.5 of 4.5; ties leave 3 * (7 - 18 / 30) / 4 of the variance.
        p, _ = judges.mann_whitney(numpy.array([1.0, 1, 2]), numpy.array([2.0, 3, 3]))
        self.assertAlmostEqual(p, 0.1102, places=3)
        self.assertEqual(judges.mann_whitney(numpy.ones(4), numpy.ones(4))[0], 1.0)

    def test_each_judge_is_read(self):
        said = {row["judge"]: row["answer"] for row in self.programs.nvbench("cub_sum", 0.03)}
        self.assertEqual(said, {"nvbench robust": "slower", "nvbench old": "slower", "Mann-Whitney": "slower"})
        said = {row["judge"]: row["answer"] for row in self.programs.nvbench("cub_sum", 0)}
        self.assertEqual(said, {"nvbench robust": "same", "nvbench old": "same", "Mann-Whitney": "same"})

    def test_a_run_goes_on_and_counts(self):
        file = self.folder / "judges.json"
        steps = 1 + len(judges.EXTRAS)
        self.assertEqual(judges.measure(self.programs, file, 1, -1), steps + 1)  # with the truth of the kind
        self.assertFalse(file.exists())
        self.assertEqual(judges.measure(self.programs, file, 1, 60), 0)
        before = json.loads(file.read_text())
        self.assertEqual(judges.measure(self.programs, file, 1, 60), 0)
        self.assertEqual(json.loads(file.read_text()), before)
        self.assertEqual(before["environment"]["commit"], "0123456")
        figures = before["figures"]
        self.assertEqual(figures["runs"][0]["device"], "a GPU")
        self.assertEqual(figures["kinds"]["cub_sum"]["truth"]["0.01"], [0.01])
        for judge, pairs in (("assay", 2 * judges.REPEATED), ("assay, sign", 2), ("nvbench robust", 2), ("do_bench", 2)):
            found = figures["judges"][judge]
            self.assertEqual(found["equal"], {"pairs": pairs, "false": 0, "undecided": 0}, judge)
            self.assertEqual(found["slower"][2], {"extra": 0.03, "pairs": pairs // 2, "found": pairs // 2, "wrong_sign": 0,
                                                  "undecided": 0}, judge)
        self.assertEqual(figures["judges"]["assay"]["slower"][0]["undecided"], judges.REPEATED)
        self.assertEqual(figures["judges"]["do_bench"]["median_command_seconds"], 5.0)
        self.assertIsNotNone(figures["judges"]["assay"]["median_command_seconds"])
        self.assertEqual(judges.measure(self.programs, file, 2, -1), steps)

    def test_what_a_program_says_is_passed_on(self):
        (self.folder / "judges_assay").write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no GPU')\n")
        with self.assertRaisesRegex(RuntimeError, "no GPU"):
            self.programs.assay("cub_sum", 0, {"kinds": {}})

    def test_kinds_are_those_of_the_library(self):
        done = subprocess.run([sys.executable, root / "benchmarks/judges/judges.py", "--folder", self.folder, "--json",
                               self.folder / "none.json", "--minutes", "-1"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout + done.stderr, "missing: 108 steps|pip install cuda-bench")


if __name__ == "__main__":
    unittest.main()
