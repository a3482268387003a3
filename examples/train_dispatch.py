# SPDX-License-Identifier: Apache-2.0
"""Trains scikit-learn's decision tree on the CSV of the dispatch experiment, and prints its regret beside ours.

train_dispatch.py X.vector_add.csv X.matmul.csv ...

The tree sees the columns `before_*` of the rows of the set `training`. It is judged by the rows of the set
`held_out`, as assay judges its choosers: the best path of a call is chosen on one half of the repetitions and timed
on the other.
"""
import csv
import math
import sys


def seconds(row, half, path):
    text = row[f"after_{half}_{path}"]
    return float(text) if text else math.inf


def features(row, kinds):
    """The numbers that are known before a call, the flops for each byte that is copied, and the kind of the call."""
    numbers = {name.removeprefix("before_"): float(value) for name, value in row.items()
               if name.startswith("before_") and name not in ("before_kind", "before_memory")}
    copied = numbers["bytes_in"] + numbers["bytes_out"]
    pageable = numbers.get("pageable_bytes_in", 0) + numbers.get("pageable_bytes_out", 0)
    ratios = [numbers["flops"] / max(each, 1) for each in (copied, pageable)]
    return list(numbers.values()) + ratios + [row["before_kind"] == each for each in kinds]


def regret(rows, paths, chosen):
    """The total regret of the chosen paths, as a share."""
    mine = best = 0.0
    for row, path in zip(rows, chosen):
        for chooses, times in (("first", "second"), ("second", "first")):
            fastest = min(paths, key=lambda each: seconds(row, chooses, each))
            mine += seconds(row, times, path)
            best += seconds(row, times, fastest)
    return mine / best - 1


def train(rows, paths, kinds):
    """A tree that weighs each row by what a wrong choice costs there."""
    from sklearn.tree import DecisionTreeClassifier

    def sum_of(row, path):
        return seconds(row, "first", path) + seconds(row, "second", path)

    labels, weights = [], []
    for row in rows:
        times = sorted((sum_of(row, path), path) for path in paths)
        labels.append(times[0][1])
        second = times[1][0] if len(times) > 1 else math.inf
        weights.append(min(second / times[0][0] - 1, 1e3) + 1e-6)
    tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=3, random_state=0)
    return tree.fit([features(row, kinds) for row in rows], labels, sample_weight=weights)


def main(files):
    if not files:
        raise SystemExit(__doc__.strip())
    print(f"{'regret in %':24}{'scikit-learn':>14}{'our tree':>14}{'our model':>14}")
    for name in files:
        with open(name, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        training = [row for row in rows if row["set"] == "training"]
        held_out = [row for row in rows if row["set"] == "held_out"]
        if not training or not held_out:
            raise SystemExit(f"{name}: {len(training)} rows to train on and {len(held_out)} to judge by: "
                             "run the experiment with --training 100 or more")
        paths = [each.removeprefix("after_first_") for each in rows[0] if each.startswith("after_first_")]
        kinds = sorted({row["before_kind"] for row in rows})
        tree = train(training, paths, kinds)
        theirs = tree.predict([features(row, kinds) for row in held_out])
        shares = [regret(held_out, paths, chosen)
                  for chosen in (theirs, [row["chosen_by_tree"] for row in held_out],
                                 [row["chosen_by_model"] for row in held_out])]
        print(f"{name:24}" + "".join(f"{100 * each:14.2f}" for each in shares))


if __name__ == "__main__":
    main(sys.argv[1:])
