# SPDX-License-Identifier: Apache-2.0
"""The generator of the documents' parts."""
import contextlib
import functools
import io
import json
import math
import operator
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

root = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(root / "cmake"), str(root / "benchmarks")]
import compile_time  # noqa: E402
from document_names import broken_links  # noqa: E402
from generate_docs import ABOUT, AGE, FIGURES, HEADLINE, NOTHING_YET, NOT_THERE, age, filled, record, shown  # noqa: E402

REPORT = "title\n=====\nmargin 1 %\n\nVerdicts\n  FASTER: yes\n\nFindings (all)\n  a  b\n"


@functools.cache
def committed(name):
    return json.loads((root / "benchmarks" / "results" / f"{name}.json").read_text())["figures"]


def around(bound, whole):
    """Values just within and just beyond a bound, and whether a row with them is marked."""
    if bound.holds is operator.eq:
        return (bound.limit, False), ("FASTER" if bound.limit == "EQUIVALENT" else bound.limit + 1, True)
    outward = 1e-6 if bound.holds is operator.le else -1e-6
    return tuple((bound.limit * whole * (1 + step), step == outward) for step in (-outward, outward))


# What a result of compile_time.py has under `figures`.
OF_A_COMPILATION = {
    "to_cub": {"compare_compiled": 0.4, "compare_header_only": 1.2},
    "cpu_seconds": {"two_kernels_compiled": 3, "two_kernels_header_only": 13, "see_why_compiled": 9, "null_cast_compiled": 20},
    "library_cpu_seconds": 30,
    "weak_symbols": {"two_kernels_compiled": 500, "two_kernels_header_only": 4000},
}


class GenerateDocs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.results = pathlib.Path(scratch.name)

    def part(self, name, before="old\n"):
        kind = name.split()[0]
        return f"before\n<!-- generated: {name} -->\n{before}<!-- end of {kind} -->\nafter\n"

    def test_sections_of_a_report_replace_what_was_there(self):
        (self.results / "x.txt").write_text(REPORT)
        wanted = "```\ntitle\n=====\nmargin 1 %\n\nFindings (all)\n  a  b\n```\n"
        name = "report x head Findings"
        self.assertEqual(filled(self.part(name), self.results), self.part(name, wanted))

    def test_filling_twice_changes_nothing(self):
        (self.results / "x.txt").write_text(REPORT)
        once = filled(self.part("report x Verdicts"), self.results)
        self.assertEqual(filled(once, self.results), once)

    def test_a_section_that_is_not_there_is_an_error(self):
        (self.results / "x.txt").write_text(REPORT)
        with self.assertRaises(SystemExit):
            filled(self.part("report x Nowhere"), self.results)

    def test_compilers_have_a_table_for_each_kind_of_row(self):
        cells = [("GCC 12.2.0, libstdc++ 12", "doors", "ok", "2026-11-28"),
                 ("GCC 9.1.0, libstdc++ 9", "doors", "error: a | b", "2026-11-27"),
                 ("GCC 12.2.0, libstdc++ 12", "program", "ok", "2026-11-29"), ("CMake 3.25.1", "recipes", "ok", "2026-11-29")]
        keys = ("row", "column", "result", "date")
        (self.results / "compilers.json").write_text(json.dumps({"cells": [dict(zip(keys, each)) for each in cells]}))
        self.assertEqual(filled(self.part("compilers"), self.results), self.part("compilers", (
            "| host compiler | doors | program | date |\n|---|---|---|---|\n"
            "| GCC 9.1.0, libstdc++ 9 | error: a \\| b | not run | 2026-11-27 |\n"
            "| GCC 12.2.0, libstdc++ 12 | ok | ok | 2026-11-29 |\n\n"
            "| CMake | recipes | date |\n|---|---|---|\n| CMake 3.25.1 | ok | 2026-11-29 |\n")))

    def test_an_unknown_generator_is_an_error(self):
        with self.assertRaises(SystemExit):
            filled(self.part("poem"), self.results)

    def test_the_reason_of_an_all_reduce_tells_what_was_measured(self):
        def strategy(stages, name, us, **more):
            return {"stages": stages, "strategy": f"copy::{name}", "us": us, "alone_share": 47 / us, **more}

        counted = {"busy_share": 0.98, "issue_share": 0.03, "warps": {"selected": 0.1, "long_scoreboard": 0.75, "barrier": 0.15}}
        rows = [strategy("1", "regular<16, 4>", 50, **counted), strategy("1", "cp_async<2>", 51),
                strategy("1", "bulk<4>", 60), strategy("2", "regular<16, 4>", 52), strategy("2", "cp_async<2>", 49.4),
                strategy("2", "bulk<4>", 52)]
        figures = {"sizes": [{"kib": 16384, "alone_us": 47, "strategies": rows}]}
        (self.results / "x.json").write_text(json.dumps({"figures": figures}))
        text = " ".join(filled(self.part("reason x"), self.results).split())
        self.assertIn("| 16 MiB | 1 | 50.00 us | 51.00 us | 60.00 us | 47.00 us, 94% | 97% of cycles |", text)
        self.assertIn("| 16 MiB | 2 | 52.00 us | 49.40 us | 52.00 us | 47.00 us, 90% | not counted |", text)
        self.assertIn("`cp.async` takes -5.0 % to +2.0 % more time than plain loads, bulk copies +0.0 % to +20.0 %.", text)
        self.assertIn("so the best copy could gain 6%. By the trace a kernel runs for 98% of the time.", text)
        self.assertIn("no warp can issue an instruction in 97% of its cycles. A warp waits for memory in 75% of its time, "
                      "and for the other warps of its block in 15%.", text)

    def test_judges_stand_side_by_side(self):
        def judge(settings, undecided, command):
            return {"settings": settings, "median_seconds": 0.3, "max_seconds": 1.25, "median_command_seconds": command,
                    "equal": {"pairs": 14, "false": 1, "undecided": undecided},
                    "slower": [{"extra": 0.003, "pairs": 7, "found": 2, "wrong_sign": 1, "undecided": 3},
                               {"extra": 0.01, "pairs": 7, "found": 7, "wrong_sign": 0, "undecided": 0}]}
        figures = {"judges": {"a": judge("its defaults", 0, 5.5), "b": judge("others", 2, None), "c": {"equal": {"pairs": 0}}},
                   "kinds": {"copy": {"seconds": 3.21e-6, "truth": {"0.01": [0.009, 0.011]}}}}
        (self.results / "x.json").write_text(json.dumps({"figures": figures}))
        text = filled(self.part("judges x"), self.results)
        for line in ("| judge | false, of equal pairs | 0.3 % more work found | 1 % more work found | median time | longest | "
                     "median as a command |", "- b: others.", "| `copy` | 3.2 us |  | 1.00 % |",
                     "| a | 1 of 14 | 2 of 7, 3 undecided, 1 faster | 7 of 7 | 0.30 s | 1.25 s | 5.50 s |",
                     "| b | 1 of 14, 2 undecided | 2 of 7, 3 undecided, 1 faster | 7 of 7 | 0.30 s | 1.25 s |  |"):
            self.assertIn(line + "\n", text)
        self.assertNotIn("| c", text)

    def test_without_a_result_it_says_so(self):
        self.assertIn(NOTHING_YET, filled(self.part("judges x"), self.results))
        self.assertIn("it takes two GPUs", filled(self.part("reason x"), self.results))
        self.assertIn(NOTHING_YET, filled(self.part("report x head"), self.results))
        self.assertIn(NOTHING_YET, filled(self.part("figures"), self.results))

    def test_a_row_is_marked_just_beyond_each_bound_of_its_target(self):
        for what, target, name, path, form, *bounds in FIGURES:
            self.assertEqual(len(bounds), len(target.split(", ")) if target else 0, what)
            figures = committed(name)
            if shown((what, target, name, path, form), figures) == NOT_THERE:
                continue
            found = record(figures, path)
            for bound in bounds:
                holder, key = record(found, bound.path[:-1]), bound.path[-1]
                for value, marked in around(bound, bound.whole(found, figures) if bound.of else 1):
                    before, holder[key] = holder[key], value
                    reads = shown((what, target, name, path, form, bound), figures)
                    holder[key] = before
                    self.assertEqual(reads.startswith("**missed**: "), marked, f"{what}: {key} {value} reads {reads}")

    def test_a_target_names_the_limit_of_each_bound(self):
        for what, target, _, _, _, *bounds in FIGURES:
            numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", target)]
            shares = [part / whole for part, whole in zip(numbers, numbers[1:])]  # 38 of 40
            for bound in bounds:
                if bound.limit == "EQUIVALENT":
                    continue
                same = [bound.limit, 100 * bound.limit, 100 * (bound.limit - 1), bound.limit / 1000, bound.limit / 2**30]
                self.assertTrue(any(math.isclose(one, other) for one in same for other in numbers + shares),
                                f"{what}: {target} and {bound.limit}")

    def test_figures_are_taken_from_the_results_that_there_are(self):
        rows = [{"kernel": kernel, "type": kind, "rows": 2**28, "share_of_memcpy": share}
                for kind, bias in (("float", 0.3), ("int32", 0.0))
                for kernel, share in (("null_cast_fused", 0.951 - bias), ("is_valid", 0.9 - bias),
                                      ("copy_if_else", 0.92 - bias), ("cast", 0.94 - bias))]
        (self.results / "null_cast.json").write_text(json.dumps({"figures": {"kernels": rows}}))
        for folder in ("", "../"):
            text = filled(self.part("figures"), self.results, folder)
            self.assertIn("| `null_cast_fused`, 2^28 rows | >= 93 % of `cudaMemcpy` | 95.1% |\n", text)
            self.assertIn(f"[null_cast]({folder}benchmarks/results/null_cast.json): no GPU, age unknown.", text)
            self.assertNotIn("compile", text)
        self.assertIn(NOTHING_YET, filled(self.part("figures overlap"), self.results))

    def test_a_figure_names_its_device_its_date_and_its_commit(self):
        (self.results / "compile_time.json").write_text(json.dumps({
            "environment": {"device": "NVIDIA H100 80GB HBM3, 132 SMs", "commit": "0123456789ab",
                            "started_at": "2026-11-23T09:33:33Z"},
            "figures": OF_A_COMPILATION}))
        self.assertIn("/compile_time.json): H100, 2026-11-23, commit 0123456, age unknown.",
                      filled(self.part("figures compile_time"), self.results))

    def test_the_time_of_a_compilation_has_a_date_and_a_commit(self):
        command = ["compile_time.py", "--json", str(self.results / "compile_time.json")]
        answer = unittest.mock.Mock(stdout="0123456789ab\n")  # of nvcc and of git
        with unittest.mock.patch("compile_time.seconds", lambda *_: {"wall": 2.0, "cpu": 1.0}), \
             unittest.mock.patch("subprocess.run", return_value=answer), unittest.mock.patch("sys.argv", command), \
             contextlib.redirect_stdout(io.StringIO()):
            compile_time.main()
        self.assertRegex(filled(self.part("figures compile_time"), self.results),
                         r"/compile_time.json\): no GPU, \d{4}-\d\d-\d\d, commit 0123456, age unknown\.")

    def test_a_result_of_several_runs_is_as_old_as_the_first(self):
        def heading(*runs):
            (self.results / "compile_time.json").write_text(json.dumps({
                "environment": {"device": "NVIDIA H200, 132 SMs", "commit": "f" * 12, "started_at": "2026-11-26T01:02:03Z"},
                "figures": {**OF_A_COMPILATION, "runs": runs}}))
            with unittest.mock.patch("generate_docs.age", lambda commit: f"{commit} commits old" if commit else "age unknown"):
                return filled(self.part("figures compile_time"), self.results)

        first = {"device": "NVIDIA H100 80GB HBM3, 132 SMs", "commit": "1" * 12, "started_at": "2026-11-24T01:02:03Z"}
        last = {"device": "NVIDIA H200, 132 SMs", "commit": "2" * 12, "started_at": "2026-11-26T01:02:03Z"}
        self.assertIn("H100 and H200, 2026-11-24 to 2026-11-26, commits 1111111 to 2222222, up to 1111111 commits old.",
                      heading(last, first))
        self.assertIn("): H200, 2026-11-26, commit 2222222, 2222222 commits old.", heading(last, last))
        del first["commit"]
        self.assertIn("H100 and H200, 2026-11-24 to 2026-11-26, commits up to 2222222, age unknown.", heading(first, last))

    def test_an_age_is_a_number_of_commits(self):
        self.assertRegex(age("HEAD"), "^age unknown$")
        self.assertEqual(AGE.sub("", "12 commits old, 1 commit old, up to 2 commits old, age unknown."), ", , , .")

    def test_the_page_of_all_figures_says_where_their_words_are_explained(self):
        (self.results / "overlap.json").write_text(json.dumps({"figures": committed("overlap")}))
        self.assertIn(f"overlap.json): no GPU, age unknown.\n{ABOUT['overlap']}\n\n| what",
                      filled(self.part("figures"), self.results))
        self.assertIn("overlap.json): no GPU, age unknown.\n\n| what",
                      filled(self.part("figures overlap"), self.results))
        self.assertLessEqual(set(ABOUT), {row[2] for row in FIGURES})
        self.assertEqual(list(broken_links(root / "docs" / "figures.md", " ".join(ABOUT.values()))), [])

    def test_each_headline_is_one_of_the_figures(self):
        for name, title, *_ in HEADLINE:
            self.assertTrue(any(each[2] == name and each[0] == title for each in FIGURES), title)

    def test_an_excerpt_is_some_lines_of_a_report(self):
        (self.results / "x.txt").write_text(REPORT)
        name = "excerpt x 2 FASTER:"
        self.assertEqual(filled(self.part(name), self.results), self.part(name, "```\n  FASTER: yes\n\n```\n").replace(
            "  FASTER", "FASTER"))
        with self.assertRaises(SystemExit):
            filled(self.part("excerpt x 2 Nowhere"), self.results)

    def test_a_part_of_a_program_stands_at_the_left(self):
        whole = filled(self.part("source pool.cu"), self.results)
        some = filled(self.part("source pool.cu pool"), self.results)
        self.assertIn("int main", whole)
        self.assertNotIn("// docs:", whole)
        self.assertNotIn("int main", some)
        self.assertRegex(some, r"```c\+\+\n\S")
        with self.assertRaises(SystemExit):
            filled(self.part("source pool.cu nowhere"), self.results)


if __name__ == "__main__":
    unittest.main()
