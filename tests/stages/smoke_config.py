"""The smoke recipe as plain values, and a run of it in a folder."""

import importlib.util
import io
from pathlib import Path

from rich.console import Console

from routejax.stages.run import Run

_FILE = Path(__file__).parent.parent.parent / "configs" / "rlve.py"


def smoke(**changes):
    """The recipe with changes such as `selection={"n": 9}`."""
    spec = importlib.util.spec_from_file_location("recipe", _FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.get_config("smoke").to_dict()
    config["mesh"]["devices"] = 1  # tests have eight pretend ones
    for block, fields in changes.items():
        config[block] = fields if block in ("arms", "seeds") else config[block] | fields
    return config


def run_in(root, **changes):
    """A run that prints into `said(run)`."""
    console = Console(file=io.StringIO(), soft_wrap=True)
    return Run(root=root, config=smoke(**changes), console=console)


def said(run):
    return run.console.file.getvalue()
