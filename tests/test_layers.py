"""Imports only point down, third-party libraries stay behind their one door."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "routejax"

LAYERS = [
    {"errors"},
    {"traces", "spans", "progress", "interrupt", "moments", "streams", "scalars"},
    {"pools", "fingerprints", "selection", "models", "envs", "metrics"}
    | {"tokenizer", "packing", "draw", "chat_template", "processes"},
    {"update", "scoring", "sampler", "workdir", "checkpoints", "mesh", "chat"},
    {"spread"},
    {"rollout", "sft", "grpo", "loop", "report", "features"},
    {"stages"},
    {"evaluation"},
    {"program"},
    {"hosts"},
    {"train", "evaluate", "fingerprint", "select", "plan", "rollouts", "problems"},
]

# Which rooms may import a third-party library; a library not listed is free to all.
_ARRAYS = {"selection", "models", "update", "scoring", "sampler", "checkpoints"} | {
    "draw",
    "processes",
    "mesh",
    "spread",
    "plan",
}
DOORS = {
    "jax": _ARRAYS | {"rollout", "sft", "grpo", "loop", "stages", "hosts"},
    "flax": {"models"},
    "optax": {"update"},
    "orbax": {"checkpoints"},
    "grain": {"stages"},
    "sklearn": {"selection"},
    "sentencepiece": {"tokenizer"},
    "tokenizers": {"tokenizer"},
    "jinja2": {"chat_template"},
    "absl": {"program", "hosts", "fingerprint", "select", "plan", "rollouts"}
    | {"problems", "evaluate"},
    "ml_collections": {"program"},
    "numba": {"pools", "fingerprints", "selection"},
    "apache_beam": {"features"},
    "math_verify": {"envs"},
    "if_verifiable": {"envs"},
    "nltk": {"envs"},
    "langdetect": {"envs"},
    "sympy": {"envs"},
    "tensorboardX": {"scalars"},
    "wandb": {"scalars"},
}

FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room(path: Path) -> str:
    """The folder or module directly under `routejax/` that holds `path`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layer(name: str) -> int:
    found = [i for i, names in enumerate(LAYERS) if name in names]
    assert found, f"routejax/{name} stands in no layer; add it to LAYERS"
    return found[0]


def imported(source: str) -> set[str]:
    """Dotted names of every module that `source` imports, wherever it does so."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def violations(here: str, source: str) -> list[str]:
    found = []
    for name in imported(source):
        top, _, rest = name.partition(".")
        if top == "routejax" and rest:
            there = rest.split(".")[0]
            if there.startswith("__") or there == here:
                continue
            if layer(there) >= layer(here):
                found.append(f"{here} (layer {layer(here)}) imports {name}")
        elif top in DOORS and here not in DOORS[top]:
            found.append(f"{here} imports {name}: only {sorted(DOORS[top])} may")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    assert violations(room(path), path.read_text()) == []


def test_a_violation_is_seen():
    assert violations("envs", "from routejax.train import main")
    assert violations("selection", "import routejax.models.llama")
    assert violations("metrics", "def f():\n    import optax")
    assert not violations("train", "from routejax.stages import pool")
