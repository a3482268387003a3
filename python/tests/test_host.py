# SPDX-License-Identifier: Apache-2.0
"""The package on a host. No test asks which callable is faster: that depends on the machine."""
import functools
import json
import sys
import unittest
import unittest.mock

import numpy

import assay


def scale(make, n, tail=0, tolerance=None):
    x = make.random(n)
    y = make.output(n)
    make.expect(y, lambda: 2 * x.seeded(), tolerance)
    source, to = x.numpy(), y.numpy()

    def work():
        numpy.multiply(source[:n - tail], 2, out=to[:n - tail])
    return work


def sums(make):
    return scale(make, 1000)


def no_sums(make):
    return scale(make, 1000, tail=1)


class Compare(unittest.TestCase):
    def test_a_comparison_has_text_and_fields(self):
        calls = []
        found = assay.compare("a", lambda: calls.append(1), "b", lambda: calls.append(2),
                              max_epochs=8, margin=0.5, seed=7, title="lists")
        self.assertIn(found.verdict, ("FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "UNPROVEN"))
        self.assertEqual((found.title, found.margin, found.seed), ("lists", 0.5, "7"))
        self.assertEqual([each.label for each in found.variants], ["a", "b"])
        self.assertEqual(json.loads(found.to_json())["title"], "lists")
        self.assertIn(found.verdict, str(found))
        self.assertIn("Variants (time per launch", found.full())
        drawn = f'<pre style="white-space: pre-wrap"><b>lists</b>\n{found.verdict}'
        self.assertTrue(found._repr_html_().startswith(drawn), found._repr_html_())
        self.assertEqual(set(calls), {1, 2})
        again = assay.compare("a", lambda: 1, "b", lambda: 2, max_epochs=8, seed=found.seed)
        self.assertEqual(again.seed, found.seed)

    def test_a_dictionary_names_more_than_two(self):
        found = assay.compare_all({"a": lambda: 1, "b": lambda: 2, "c": lambda: 3}, max_epochs=8)
        self.assertEqual(len([each for each in found.findings if each.primary]), 2)

    def test_results_of_factories_are_checked(self):
        right = assay.compare("a", sums, "b", sums, max_epochs=8)
        self.assertIn("results: checked", str(right))
        wrong = assay.compare("a", sums, "b", no_sums, max_epochs=8)
        self.assertEqual(wrong.verdict, "WRONG ANSWER")
        self.assertIn("element 999 of", " ".join(str(wrong).split()))

    def test_an_exception_of_a_callable_is_named(self):
        found = assay.compare("a", lambda: 1, "b", lambda: 1 / 0)
        self.assertEqual(found.verdict, "UNPROVEN")
        self.assertIn("ZeroDivisionError: division by zero", found.failure)

    def test_control_c_ends_a_comparison(self):
        def stops():
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            assay.compare("a", lambda: 1, "b", stops)

    def test_bad_input_is_refused_with_its_value(self):
        f = lambda: None
        for call, error, text in (
                (lambda: assay.compare("a", f, "a", f), ValueError, "a"),
                (lambda: assay.compare("a", f, "b", 3), TypeError, "'b' is no callable: 3"),
                (lambda: assay.compare("a", f, "b", lambda x, y: 0), TypeError, "takes x, y"),
                (lambda: assay.compare("a", f, "b", f, margins=2), TypeError, "'margins'"),
                (lambda: assay.compare("a", f, "b", f, margin="1%"), TypeError, "margin='1%': a number is needed"),
                (lambda: assay.compare("a", f, "b", f, seed=-1), TypeError, "seed=-1: a whole number"),
                (lambda: assay.compare("a", f, "b", f, max_epochs=8.5), TypeError, "max_epochs=8.5: a whole number"),
                (lambda: assay.compare("a", f, "b", f, cold_cache=2), TypeError, "cold_cache=2: True or False"),
                (lambda: assay.compare("a", f, "b", f, clock=None), TypeError, "clock=None: text"),
                (lambda: assay.compare("a", f, "b", f, margin=-1), ValueError, "margin"),
                (lambda: assay.compare("a", f, "b", f, clock="sun"), ValueError, "clock 'sun'"),
                (lambda: assay.compare("a", f, "b", f, on="tpu"), ValueError, "on='tpu'"),
                (lambda: assay.compare_all("a", f, "b"), TypeError, "in turn"),
                (lambda: assay.compare_all(f, "a"), TypeError, "is no name"),
                (lambda: assay.compare_all({1: f, "a": f}), TypeError, "1 is no name"),
                (lambda: assay.compare("a", f, "b", f, device="cuda:0"), TypeError, "device='cuda:0': a whole number"),
                (lambda: assay.verify(scale_by_n, seed=-1), TypeError, "seed=-1: a whole number"),
                (lambda: assay.verify(scale_by_n, at_least=-1), TypeError, "at_least=-1: a whole number"),
                (lambda: assay.verify(scale_by_n, only="ab"), TypeError, "only='a': a whole number"),
                (lambda: assay.verify(lambda: 0), TypeError, "verify takes a factory")):
            with self.subTest(text), self.assertRaises((error, RuntimeError)) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_functions_whose_calls_run_nothing_are_refused(self):
        async def asks():
            pass

        def yields():
            yield 1

        class Asks:
            async def __call__(self):
                pass
        for each, text in ((asks, "'b' is an `async def`"), (functools.partial(asks), "`async def`"),
                           (Asks(), "asyncio.run"), (yields, "'b' has a `yield`")):
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                assay.compare("a", lambda: None, "b", each)
        found = assay.compare("a", lambda make: lambda: None, "b", lambda make: yields)
        self.assertIn("the work that a factory returned has a `yield`", found.failure)

    def test_calls_that_return_work_to_be_run_later_have_no_verdict(self):
        def yields():
            yield 1
        for call, kind in ((lambda: map(str, range(9)), "a map"), (lambda: zip(), "a zip"), (yields, "a generator"),
                           (lambda: filter(None, ()), "a filter")):
            with self.subTest(kind):
                found = assay.compare("a", lambda: None, "b", lambda: call())
                self.assertEqual(found.verdict, "UNPROVEN")
                self.assertIn(f"a call returned {kind}, whose work nobody runs", found.failure)

    def test_an_exception_whose_text_cannot_be_had_is_named(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError
        for error, text in ((Mute(), "Mute: its text"), (ValueError("\udc80x"), "ValueError: \\udc80x")):
            def fails():
                raise error
            self.assertIn(text, assay.compare("a", lambda: None, "b", fails).failure)

    def test_work_on_streams_needs_a_device(self):
        found = None
        try:
            found = assay.compare("a", lambda stream: None, "b", lambda stream: None)
        except (RuntimeError, ValueError) as error:
            self.assertRegex(str(error), "device|toolkit|driver")
        if found is not None:  # here is one, and the callables enqueue nothing
            self.assertEqual(found.verdict, "UNPROVEN")


class Race(unittest.TestCase):
    def test_a_race_has_a_ranking(self):
        found = assay.race({"a": lambda: sum(range(10)), "b": lambda: sum(range(10000))})
        self.assertEqual({each.name for each in found.racers}, {"a", "b"})
        self.assertIn(found.winner, ("a", "b", None))


class Verify(unittest.TestCase):
    def test_right_work_is_right_and_a_tail_is_found(self):
        right = assay.verify(scale_by_n)
        self.assertTrue(right, str(right))
        self.assertGreater(right.cases, 100)
        wrong = assay.verify(lambda make, n: scale(make, n, tail=n % 4))
        self.assertFalse(wrong)
        self.assertIn("n = 1, zeros: element 0", wrong.failure)
        self.assertIn("assay.verify(..., seed=1, only=[1])", str(wrong))
        self.assertRegex(right._repr_html_(), r"<b>right in \d+ cases")
        self.assertIn("<b>wrong</b>: n = 1, zeros: element 0", wrong._repr_html_())

    def test_the_call_that_repeats_a_failure_is_one_of_python(self):
        text = assay._in_python("wrong; repeat with assay::verify(..., {.seed = 3, .only = {{64, 33}, {1, 2}}, "
                                ".concurrent = false, .place = assay::on::device{1}}); more {x}")
        self.assertEqual(text, "wrong; repeat with assay.verify(..., seed=3, only=[(64, 33), (1, 2)], "
                               "concurrent=False, device=1); more {x}")
        self.assertEqual(assay._in_python("where 0 is no size, pass .only = assay::sizes{}.at_least(1)"),
                         "where 0 is no size, pass at_least=1")

    def test_sizes_keep_rules(self):
        seen = set()

        def of(make, rows, columns):
            seen.add((rows, columns))
            return scale(make, rows * columns)
        self.assertTrue(assay.verify(of, only=[(3, 5), (1, 7)]))
        self.assertEqual(seen, {(3, 5), (1, 7)})
        seen.clear()
        self.assertTrue(assay.verify(of, multiple_of=[1, 8], at_least=1, at_most=64))
        self.assertTrue(all(columns % 8 == 0 and 1 <= rows <= 64 for rows, columns in seen))
        self.assertTrue(assay.verify(lambda make, n: scale(make, n), only=3))
        self.assertTrue(assay.verify(lambda make, n: scale(make, numpy.int64(n)), only=numpy.int64(3)))

    def test_shapes_are_whole_numbers_that_64_bits_count(self):
        for shape, text in ((-1, "shape=-1"), (2.0, "shape=2.0"), ((2**62 + 1, 4), "more elements than 64 bits count")):
            found = assay.compare("a", lambda make: make.output(shape), "b", sums)
            self.assertIn(text, found.failure)

    def test_right_values_are_those_that_a_type_has(self):
        for right, dtype, text in ((256, "uint8", "256 is no uint8"), (0.5, "int32", "0.5 is no int32"),
                                   (numpy.nan, "int64", "nan is no int64"), (-1, "uint32", "-1 is no uint32")):
            def of(make, n):
                y = make.output(n, dtype)
                make.expect(y, numpy.full(n, right))
                return lambda: y.numpy().fill(0)
            self.assertIn(f"right values: {text}", assay.verify(of, only=[3]).failure)

    def test_types_scalars_and_rules_of_sums(self):
        def saxpy(make, n):
            a = make.scalar("a", [2, 0, -0.5])
            make.finite()
            x = make.random(n, "float64", range=(-1, 1))
            y = make.inout(n, numpy.float64)
            make.expect(y, lambda: a * x.seeded() + y.seeded())
            source, to = x.numpy(), y.numpy()

            def work():
                to[:] = a * source + to
            return work
        found = assay.verify(saxpy)
        self.assertTrue(found, str(found))

        def total(make, n):
            make.finite()
            x = make.random(n)
            y = make.output(1)
            make.expect(y, lambda: [x.seeded().sum()], assay.sum_of(n))
            source, to = x.numpy(), y.numpy()

            def work():
                to[0] = numpy.add.reduce(source)
            return work
        found = assay.verify(total, at_least=1)
        self.assertTrue(found, str(found))

        def count(make, n):
            x = make.random(n, "int32", range=(0, 9))
            y = make.output(n, "int32")
            make.expect(y, lambda: x.seeded() + 1)
            source, to = x.numpy(), y.numpy()
            return lambda: numpy.add(source, 1, out=to)
        found = assay.verify(count)
        self.assertTrue(found, str(found))

        def copy(make, n, dtype="int64", range=None):
            x, y = make.random(n, dtype, range=range), make.output(n, dtype)
            make.expect(y, x.seeded)
            source, to = x.numpy(), y.numpy()
            return lambda: numpy.copyto(to, source)
        found = assay.verify(copy)
        self.assertTrue(found, str(found))
        for dtype, ends, wrong in (("int32", (0.5, 2), "0.5 is no int32"), ("uint8", (0, 256), "256 is no uint8"),
                                   ("int64", (0, 2.0**63), "is no int64"), ("uint32", (-1, 2), "-1 is no uint32")):
            found = assay.verify(lambda make, n: copy(make, n, dtype, ends), only=[3])
            self.assertIn(wrong, str(found))

    def test_half_types(self):
        def halves(dtype, tail=0, add=0.0):
            def of(make, n):
                x, y = make.random(n, dtype, range=(-1, 1)), make.output(n, dtype)
                make.expect(y, lambda: 3 * x.seeded() + 1)
                source, to = x.numpy(), y.numpy()
                self.assertEqual((source.itemsize, source.dtype.name), (2, numpy.dtype(dtype).name))

                def work():
                    values = 3 * source[:n - tail].astype(numpy.float32) + numpy.float32(1 + add)
                    to[:n - tail] = values.astype(to.dtype)
                return work
            return of
        kinds = [(numpy.float16, 2**-9), ("float16", 2**-9)]
        try:
            import ml_dtypes
            kinds.append((ml_dtypes.bfloat16, 2**-6))
        except ImportError:
            pass
        for dtype, wrong in kinds:
            with self.subTest(dtype), numpy.errstate(all="ignore"):
                found = assay.verify(halves(dtype))
                self.assertTrue(found, str(found))
                self.assertIn("never written", assay.verify(halves(dtype, tail=1), at_least=1).failure)
                found = assay.verify(halves(dtype, add=4 * wrong))
                self.assertIn("element", found.failure)

    def test_a_bfloat16_array_on_the_host_needs_ml_dtypes(self):
        seen = []

        def of(make, n):
            y = make.output(n, "bfloat16")
            make.expect(y, lambda: numpy.zeros(n))
            with unittest.mock.patch.dict(sys.modules, {"ml_dtypes": None}):
                try:
                    y.numpy()
                except TypeError as error:
                    seen.append(str(error))
            bits, is_bfloat16 = y._numpy()
            self.assertEqual((bits.dtype, is_bfloat16), (numpy.uint16, True))
            return lambda: bits.fill(0)
        self.assertTrue(assay.verify(of, only=[3]))
        self.assertIn("pip install ml_dtypes", seen[0])

    def test_names_of_types(self):
        class OfTorch:
            def __str__(self):
                return "torch.bfloat16"
        for of, itemsize in ((OfTorch(), 2), (numpy.dtype("float16"), 2), (numpy.float64, 8), ("uint8", 1)):
            def factory(make, n):
                y = make.output(n, of)
                make.expect(y, lambda: numpy.zeros(n))
                values, _ = y._numpy()
                self.assertEqual(values.itemsize, itemsize)
                return lambda: values.fill(0)
            found = assay.verify(factory, only=[5])
            self.assertTrue(found, str(found))

    def test_a_factory_without_expectation_is_refused(self):
        with self.assertRaisesRegex(ValueError, "expect"):
            assay.verify(lambda make, n: lambda: None)

    def test_right_values_of_another_size_are_named(self):
        def of(make, n):
            y = make.output(n)
            make.expect(y, [1.0])
            return lambda: y.numpy().fill(1)
        self.assertIn("1 right values for an array of", assay.verify(of, only=[2]).failure)

    def test_a_setup_ends_with_its_factory(self):
        kept = []

        def of(make, n):
            kept.append(make)
            return scale(make, n)
        assay.verify(of, only=[1])
        with self.assertRaisesRegex((RuntimeError, ValueError), "factory has returned"):
            kept[0].output(3)
        with self.assertRaisesRegex((RuntimeError, ValueError), "dtype 'complex64'"):
            assay.compare("a", lambda make: make.output(1, "complex64"), "b", sums).full()
            raise ValueError(assay.compare("a", lambda make: make.output(1, "complex64"), "b",
                                           sums).failure)


def scale_by_n(make, n):
    return scale(make, n)


if __name__ == "__main__":
    unittest.main()
