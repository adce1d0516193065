"""Reports of selections for the tests."""

import copy

NAMES = ("diverse", "similar", "random")
STATISTICS = {
    "rows": 6,
    "prompts": 2,
    "response_distance": 4.0,
    "topology_distance": 8.0,
    "topology_variance": 0.5,
    "pattern_entropy_bits": 3.0,
    "active_patterns": 12.0,
}


def row(n, **other):
    known = {
        "id": f"row-{n}",
        "group": "math" if n % 2 else "code",
        "source": "teacher",
        "characters": 1000 * (n + 1),
        "cluster": n % 3,
        "rank": n,
        "distance": 0.25 * n,
        "cluster_rows": 9,
        "cluster_chosen": 2,
        "near": f"row-{n + 1}",
        "near_distance": 0.5,
        "x": 0.1 * n,
        "y": -0.1 * n,
        "route": f"routes/row-000000{n}.html" if n < 2 else None,
    }
    return known | other


def selector(n, rows=6):
    clusters = {"hit": 4 - n, "of": 4}
    quotas = {
        "math": {"eligible": 50, "budget": 3, "selected": 3, "short": 0},
        "code": {"eligible": 3, "budget": 3, "selected": 3, "short": 2 * (n == 1)},
    }
    return {
        "sentence": "Rows far apart.",
        "measured": "the nearest earlier pick" if n < 2 else None,
        "selected": rows,
        "ids_sha256": f"{n}" * 64,
        "prompts": 4,
        "geometry": {
            "covering_radius": 1.1 + n / 10,
            "mean_nearest_distance": 0.7,
            "looked_at": 53,
            "quantiles": [0.0, 0.2, 0.4, 0.6, 1.1 + n / 10],
            "vendi": 30.5 - n,
            "clusters": clusters,
        },
        "quotas": quotas,
        "by_source": {"teacher": 5, "": 1},
        "by_length": {"20": 4, "22": 2},
        "rows": [row(k, cluster=None if n else k % 3) for k in range(rows)],
        "spread": STATISTICS | {"topology_distance": 8.0 / (n + 1)},
    }


def feature(name, n):
    return {
        "feature": name,
        "meaning": f"what {name} counts",
        "effect": 0.5 - n,
        "mean": {one: 0.1 * n + k for k, one in enumerate(NAMES)},
        "deviation": {one: 0.5 + k for k, one in enumerate(NAMES)},
    }


def a_report(names=NAMES):
    """A report of these selectors, at most three."""
    found = {
        "schema": 1,
        "routejax": "0.0",
        "config": "by_hand",
        "commands": {
            "why": "python -m routejax.select --config=c.py --why=",
            "route": "python -m routejax.fingerprint --config=c.py --explain=",
        },
        "family": "corpus",
        "grammar": True,
        "pool": {
            "input": 60,
            "solutions": 60,
            "eligible": 53,
            "unreadable": 0,
            "groups": {"code": 3, "math": 50},
            "map": {
                "cells": 4,
                "corner": [-0.6, -0.6],
                "side": 1.2,
                "at": [0, 5, 15],
                "rows": [1, 2, 50],
                "variance": 0.25,
            },
            "read": 53,
            "sources": {"teacher": 50, "": 3},
            "lengths": {"19": 3, "20": 50},
            "rejected": {"non_empty": 7},
        },
        "order": list(names),
        "selectors": {name: selector(n) for n, name in enumerate(names)},
        "overlap": {
            "rows": [[6 if a == b else 2 for b in names] for a in names],
            "by_chance": 3.2,
        },
        "compared": list(names[:2]) if len(names) > 1 else None,
        "ratio": {"topology_distance": 2.0, "active_patterns": None},
        "separating": {
            "of": "diverse",
            "to": "similar",
            "shift": [feature("rate/a->b", 0), feature("long/" + "x" * 60, 1)],
            "spread": [feature("rate/a->b", 0)],
        },
    }
    if len(names) == 1:
        found |= {"ratio": None, "separating": None}
    return copy.deepcopy(found)
