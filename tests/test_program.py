"""What every entry does around its work, on a config of its own."""

import importlib
import sys
from pathlib import Path

import pytest
from entries import OLD_IMPORT, forget, signals_kept
from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from routejax import interrupt, program
from routejax.errors import UserError

CONFIG = """
from ml_collections import ConfigDict

def get_config():
    return ConfigDict({"name": "toy", "n": 3, "names": ("a", "b"), "text": ""})
"""
pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Runs work with flags: what came of it, what work was given, lines of stderr."""
    (tmp_path / "toy.py").write_text(CONFIG)
    for name, text in (("wrong", "def"), ("fails", "1 / 0")):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)

    def run(*argv, error=None, default="toy.py"):
        forget()
        given = []

        def work(config, root):
            given.append((config, root))
            if error:
                raise error

        monkeypatch.setattr(sys, "argv", ["toy", *argv])
        status = program.run_program(work, default)
        return status, given, capsys.readouterr().err.splitlines()

    with signals_kept():
        yield run


def test_work_gets_a_plain_config_and_its_folder(call):
    status, given, err = call(
        "--config.n=5", "--config.names=x,y", "--config.text=a,/b"
    )
    assert (status, err) == (0, [])
    ((config, root),) = given
    assert config == {"name": "toy", "n": 5, "names": ("x", "y"), "text": "a,/b"}
    assert type(config) is dict
    assert root.parts == ("runs", "toy")
    assert call("--workdir=here/there")[1][0][1].parts == ("here", "there")


def test_plain_by_hand():
    config = ConfigDict({"a": {"b": ("x,y", "", 3)}, "c": placeholder(str), "d": "p,q"})
    assert program.plain(config) == {
        "a": {"b": ("x", "y", 3)},
        "c": None,
        "d": "p,q",
    }


MISTAKES = {
    "a word": (["more"], "flags begin with --, got 'more'"),
    "unknown flag": (["--nope"], "Unknown command line flag 'nope'"),
    "unknown field": (["--config.m=1"], "there is no 'm' among: n, name, names, text"),
    "another type": (["--config.n=many"], "flag --config.n=many: "),
    "no such file": (["--config=none.py"], "no config file 'none.py'"),
    "no variants": (["--config=toy.py:foo"], "toy.py has no variant 'foo'; recipes"),
    "not Python": (["--config=wrong.py"], "wrong.py' cannot be read: SyntaxError"),
    "fails": (["--config=fails.py"], "fails.py' cannot be read: ZeroDivisionError: di"),
    "a fraction": (["--config.n=1e9"], "'1e9'; a whole number is wanted, such as 1000"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_one_line(what, call):
    argv, said = MISTAKES[what]
    status, given, err = call(*argv)
    assert (status, given, len(err)) == (2, [], 1)
    assert err[0].startswith("routejax: ")
    assert said in err[0]


def test_a_recipe_must_be_named_where_there_is_no_default(call):
    status, _, err = call(default=None)
    assert (status, err) == (
        2,
        ["routejax: --config must name a recipe; there are some in configs/"],
    )


def test_fields_without_a_recipe(call):
    status, _, err = call("--config.n=3", default=None)
    assert (status, len(err)) == (2, 1)
    assert "--config must name a recipe" in err[0]


def test_a_recipe_that_may_not_be_read(call, monkeypatch):
    def shut(path, *given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", shut)
    monkeypatch.setattr("io.open", shut)
    said = program._bad_recipe("toy.py", ValueError("cannot load"))
    assert said == "config file 'toy.py' cannot be read (Permission denied)"


def test_a_file_that_is_no_recipe():
    missing = AttributeError("module 'm' has no attribute 'get_config'")
    said = program._bad_recipe("base.py", missing)
    assert said.startswith("base.py is no recipe; recipes are the files of configs/")


def test_help_is_no_mistake(call, capsys):
    status, given, err = call("--help")
    assert (status, given, err) == (0, [], [])


def test_how_work_can_end(call):
    assert call(error=UserError("mend this"))[::2] == (2, ["routejax: mend this"])
    status, _, err = call(error=interrupt.Interrupted("SIGTERM"))
    assert status == 75
    assert err == [
        "routejax: stopped by SIGTERM; everything finished is saved, run the same "
        "command to go on"
    ]
    with pytest.raises(ZeroDivisionError):  # a defect keeps its traceback
        call(error=ZeroDivisionError())


def test_all_entries_fit_into_one_process():
    folder = Path(program.__file__).parent
    entries = [p for p in folder.glob("*.py") if "__main__" in p.read_text()]
    assert len(entries) > 4
    for path in entries:
        importlib.import_module(f"routejax.{path.stem}")
