"""Recipes of selections: the paper's numbers (C.1, C.2, A.5-A.7, Table 7)."""

import importlib.util
import re
from pathlib import Path

import pytest

from routejax.errors import UserError
from routejax.program import plain
from routejax.stages.select_settings import read_quotas, read_settings

CONFIGS = Path(__file__).parent.parent / "configs"


def module(name, monkeypatch):
    monkeypatch.syspath_prepend(str(CONFIGS.parent))
    spec = importlib.util.spec_from_file_location(f"r_{name}", CONFIGS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def settings(name, monkeypatch, *variant):
    config = plain(module(name, monkeypatch).get_config(*variant))
    return read_settings(config["selection"])


# What the paper says once for all of them.
SHARED = {
    "seed": 42,
    "projection_seed": 42,
    "n_init": 3,
    "max_iter": 50,
    "batch": 65_536,
    "global_clusters": 200,
    "precision": "exact",
}
_THIRDS = {"math": 33_334, "code": 33_333}
_CORPUS = {"n": 100_000, "K": 40_000, "group_by": "group", "r": 96, "unscaled": 0}
_CORPUS |= {"per_prompt": None, "variance_floor": 1e-8}
_DOLCI = _CORPUS | {"quotas": {}, "variance_floor": 0.0}
_WHOLE = {"K": None, "group_by": "all", "quotas": {}, "variance_floor": 0.0}
PAPER = {
    ("openthoughts3",): _CORPUS | {"quotas": _THIRDS | {"science": 33_333}},
    ("intellect3",): _CORPUS | {"quotas": _THIRDS | {"stem": 33_333}},
    ("nemotron_cascade2",): _CORPUS | {"quotas": {"math": 100_000}},
    ("dolci",): _DOLCI,
    ("dolci_think",): _DOLCI,
    ("single_teacher", "10k"): _DOLCI | {"n": 10_000, "K": None, "per_prompt": 8},
    ("single_teacher", "25k"): _DOLCI | {"n": 25_000, "K": None, "per_prompt": 8},
    ("single_teacher", "50k"): _DOLCI | {"n": 50_000, "K": None, "per_prompt": 8},
    ("omega",): _WHOLE | {"n": 50_000, "r": None, "unscaled": 0},
    ("sokoban",): _WHOLE | {"n": 86_792, "r": None, "unscaled": 0},
    ("rlve_pool", "50k"): _WHOLE | {"n": 50_000, "r": 96, "unscaled": 64},
    ("rlve_pool", "200k"): _WHOLE | {"n": 200_000, "r": 96, "unscaled": 64},
}


@pytest.mark.parametrize("recipe", PAPER, ids=":".join)
def test_every_number_of_the_paper(recipe, monkeypatch):
    found = settings(recipe[0], monkeypatch, *recipe[1:])
    wanted = SHARED | PAPER[recipe]
    assert {name: getattr(found, name) for name in wanted} == wanted
    assert found.methods[:3] == ("diverse", "similar", "random")
    sums = sum(found.quotas.values())
    assert sums in (0, found.n)


def test_the_topology_baseline_is_that_of_each_corpus(monkeypatch):
    """Plain farthest points on OpenThoughts3, clusters on the larger pools (C.4)."""
    assert "topology_fps" in settings("openthoughts3", monkeypatch).methods
    for name in ("intellect3", "nemotron_cascade2"):
        assert "topology_clusters" in settings(name, monkeypatch).methods


def test_names_are_those_of_the_files(monkeypatch):
    for name in {recipe[0] for recipe in PAPER} | {"local_traces"}:
        assert module(name, monkeypatch).get_config().name == name


@pytest.mark.parametrize("name", ["single_teacher", "rlve_pool"])
def test_unknown_variants_list_those_there_are(name, monkeypatch):
    found = module(name, monkeypatch)
    with pytest.raises(
        UserError, match=f"no variant 'x'; there are {', '.join(found.ROWS)}"
    ):
        found.get_config("x")


def test_every_field_has_a_reader(monkeypatch):
    config = module("corpora", monkeypatch).corpus()
    source = (CONFIGS.parent / "routejax/stages/select_settings.py").read_text()
    table = source[source.index("_READ: ") :]
    known = set(re.findall(r'^    "(\w+)":', table, re.MULTILINE))
    assert known == set(config.selection)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", {}),
        ("math=3", {"math": 3}),
        (" math = 3 , code=0,", {"math": 3, "code": 0}),
        ("a=b=3", {"a=b": 3}),
        ('{"a,b": 3, "c": 4}', {"a,b": 3, "c": 4}),
    ],
)
def test_quotas(text, wanted):
    assert read_quotas(text) == wanted


@pytest.mark.parametrize(
    "text", ["math", "=3", "a=1,a=2", "a=1.5", '{"a": true}', '{"a": 1, "a": 2}', "{"]
)
def test_quotas_that_are_none(text):
    with pytest.raises(ValueError, match="each name once"):
        read_quotas(text)
