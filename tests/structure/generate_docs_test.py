# SPDX-License-Identifier: Apache-2.0
"""The generator of the documents' parts."""
import json
import pathlib
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from generate_docs import AGE, FIGURES, HEADLINE, NOTHING_YET, age, filled, missed  # noqa: E402

REPORT = "title\n=====\nmargin 1 %\n\nVerdicts\n  FASTER: yes\n\nFindings (all)\n  a  b\n"


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

    def test_an_unknown_generator_is_an_error(self):
        with self.assertRaises(SystemExit):
            filled(self.part("poem"), self.results)

    def test_without_a_result_it_says_so(self):
        self.assertIn(NOTHING_YET, filled(self.part("report x head"), self.results))
        self.assertIn(NOTHING_YET, filled(self.part("figures"), self.results))

    def test_a_missed_target_is_seen(self):
        for target, measured, wanted in (
                ("<= 9 us, >= 1.35x", "9.71 us, 162 GB/s; NCCL 16.74 us: 1.724x", True),
                ("<= 9 us, >= 1.35x", "8.99 us, 162 GB/s; NCCL 16.74 us: 1.350x", False),
                ("<= 9 us, >= 1.35x", "8.99 us, 162 GB/s; NCCL 9.74 us: 1.083x", True),
                ("360 GB/s, >= 1x", "4,575.25 us, 352 GB/s: 0.996x", True),
                (">= 352 GB/s", "186.08 us, 361 GB/s; NCCL 248.20 us", False),
                ("p50 <= 30 ns, p99 <= 150 ns", "12 ns, 151 ns", True),
                ("p50 <= 30 ns, p99 <= 150 ns", "12 ns, 150 ns", False),
                ("<= 2 us", "1,157 ns", False), ("<= 2 us", "2,157 ns", True),
                (">= 95 % of the bound", "94.4%; T(N) allows 95.9%", True),
                (">= 90 % of min(pinned link, host memcpy), >= 2.5x pageable", "116.4%, 2.49x", True),
                ("<= 38", "39", True), ("<= 38", "2", False),
                ("<= 15, as 5 % give in 95 of 100 runs", "16 of 200; kept 12 of 50", True),
                ("<= 15, as 5 % give in 95 of 100 runs", "6 of 200; kept 34 of 50", False),
                ("<= 1.25x `<cub/cub.cuh>`", "1.19x (14.5 s)", False),
                ("<= 3 s, <= 1 GiB", "1.91 s, 290,754,560 bytes", False),
                ("as before", "1.0004x [0.9975, 1.0035], EQUIVALENT", False), ("", "1.00x", False)):
            self.assertEqual(missed(target, measured), wanted, f"{target} | {measured}")

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
            "figures": {"ratio": 1.2, "assay_seconds": 10}}))
        self.assertIn("/compile_time.json): H100, 2026-11-23, commit 0123456, age unknown.",
                      filled(self.part("figures compile_time"), self.results))

    def test_an_age_is_a_number_of_commits(self):
        self.assertRegex(age("HEAD"), "^age unknown$")
        self.assertEqual(AGE.sub("", "a, 12 commits old. b, 1 commit old. c, age unknown."), "a, . b, . c, .")

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
