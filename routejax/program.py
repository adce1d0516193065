"""What every entry does around its work: flags, the config, mistakes, signals.

Exit status: 0 done; 2 something to mend, said on the last line; 75 asked to stop
(SIGTERM, Ctrl-C) with everything finished saved, run the same command again. Who reads
the output may go before the end (`| head`): that ends no work.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from absl import app, flags
from absl import logging as absl_logging
from ml_collections import ConfigDict, config_flags

from routejax import interrupt, streams
from routejax.errors import UserError

CONFIG = config_flags.DEFINE_config_file("config", None, lock_config=True)
WORKDIR = flags.DEFINE_string(
    "workdir", None, "Folder of the run; runs/<config name> if not given."
)

_WANTED = {  # what Python says of a value that is of another type, and what to give
    "invalid literal for int": "a whole number is wanted, such as 1000",
    "could not convert string to float": "a number is wanted, such as 0.001",
}
Work = Callable[[dict[str, Any], Path], None]


def plain(config: ConfigDict) -> dict[str, Any]:
    """The config as dicts and tuples; `--config.arms=a,b` becomes two names."""

    def value(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: value(inner) for key, inner in found.items()}
        if isinstance(found, tuple | list):
            parts = [p.split(",") if isinstance(p, str) else [p] for p in found]
            return tuple(part for group in parts for part in group if part != "")
        return found

    return value(config.to_dict())


def quieten() -> None:
    """Warnings of libraries stay; what Orbax logs at length it also raises."""
    absl_logging.set_verbosity(absl_logging.WARNING)
    for name in ("absl", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def parse(argv: list[str]) -> list[str]:
    """absl's flags, with a config's mistakes as one clear line.

    Raises:
        UserError: an unknown flag, file, variant or field, or a value of another type.
    """
    if sum(_is_config(arg) for arg in argv[1:]) > 1:
        raise UserError("--config was given twice; one recipe makes a run")
    fields = any(arg.lstrip("-").startswith("config.") for arg in argv[1:])
    if fields and not any(_is_config(arg) for arg in argv[1:]):
        raise UserError("--config must name a recipe; there are some in configs/")
    _let_recipes_import(_config_path(argv))
    try:
        left = flags.FLAGS(argv)
        config: Any = CONFIG.value
        if config is None:
            raise UserError("--config must name a recipe; there are some in configs/")
        config.keys()  # a file that was not found fails only when it is read
        return left
    except UserError:
        raise
    except SystemExit as ended:  # absl has printed its help, for which it exits with 1
        raise SystemExit(0) from ended
    except Exception as error:  # a recipe is a program, and may raise anything
        raise UserError(_mistake(argv, error)) from error


def _parse_flags(argv: list[str]) -> list[str]:
    try:
        return flags.FLAGS(argv)
    except flags.Error as error:
        raise UserError(_in_words(error)) from error
    except SystemExit as ended:  # as in `parse`
        raise SystemExit(0) from ended


def _mistake(argv: list[str], error: BaseException) -> str:
    """What is wrong with the command line, in one line."""
    below: BaseException | None = error
    while below := below.__cause__ or below.__context__:
        if isinstance(below, UserError) and "\n" not in str(below):
            return str(below)  # what a config file says about its own variant
    parser = config_flags.config_flags.ConfigFileFlagParser("config")
    path = _config_path(argv)
    try:
        config: Any = parser.parse(path)
        config.keys()
    except Exception as wrong:
        return _bad_recipe(path, wrong)
    overrides = [a.lstrip("-").partition("=")[0] for a in argv[1:]]
    for name in overrides:
        if name.startswith("config.") and (unknown := _unknown(config, name)):
            return unknown
    return _in_words(error) + _without_config(argv)


def _in_words(error: BaseException) -> str:
    said = str(error).splitlines()[0]
    for python, wanted in _WANTED.items():
        if python in said:
            return f"{said}; {wanted}"
    return said


def _without_config(argv: list[str]) -> str:
    """Of settings that are named without `config.`: how they are named."""
    for arg in argv[1:]:
        name = arg.lstrip("-").partition("=")[0]
        if arg.startswith("-") and "." in name and not name.startswith("config."):
            return f"; settings of the recipe begin with config: --config.{name}"
    return ""


def _bad_recipe(path: str, error: Exception) -> str:
    """Why a recipe cannot be read, in one line."""
    file, _, variant = path.partition(":")
    if "get_config" in str(error):
        has = f"has no variant {variant!r}" if variant else "is no recipe"
        return f"{file} {has}; recipes are the files of configs/ with a get_config"
    try:
        with Path(file).open("rb"):
            pass
    except PermissionError as denied:
        return f"config file {file!r} cannot be read ({denied.strerror})"
    except OSError:
        return (
            f"no config file {path!r} in {Path.cwd()}; the recipes are in configs/ of "
            "the clone: go there, or name the whole path"
        )
    while error.__cause__ and isinstance(error.__cause__, Exception):
        error = error.__cause__
    said = " ".join(str(error).split())
    return f"config file {file!r} cannot be read: {type(error).__name__}: {said}"


def _is_config(arg: str) -> bool:
    return arg.startswith("-") and arg.lstrip("-").partition("=")[0] == "config"


def _let_recipes_import(path: str) -> None:
    """Recipes import each other as `configs.…`, wherever the command is given."""
    folder = Path(path.rpartition(":")[0] or path).absolute().parent
    if folder.name == "configs" and str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))


def _config_path(argv: list[str]) -> str:
    """Value of the last `--config`."""
    path = ""
    for at, arg in enumerate(argv[1:], 1):
        name, given, value = arg.lstrip("-").partition("=")
        if name == "config":
            path = value if given else "".join(argv[at + 1 : at + 2])
    return path


def _unknown(config: Any, name: str) -> str | None:
    """For a field that does not exist, the names there are at that place."""
    at = config
    for part in name.split(".")[1:]:
        if not isinstance(at, ConfigDict):
            return f"unknown field --{name}: {part!r} is asked of a value, {at!r}"
        if part not in at:
            names = ", ".join(sorted(at))
            return f"unknown field --{name}: there is no {part!r} among: {names}"
        at = at[part]
    return None


def run_program(work: Work, default: str | None = None) -> int:
    """Exit status of `work`, called with the plain config and the run's folder.

    `default` is the recipe where the command line names none. A user's mistake is one
    line, not a traceback.
    """

    def main(argv: list[str]) -> None:
        if len(argv) > 1:
            raise UserError(f"flags begin with --, got {argv[1]!r}")
        quieten()
        config = plain(CONFIG.value)
        work(config, Path(WORKDIR.value or Path("runs") / config["name"]))

    return _run(main, _with_default(sys.argv, default), parse)


def run_command(main: Callable[[list[str]], None]) -> int:
    """Exit status of an entry without a config; `main` gets what is no flag."""
    return _run(main, sys.argv, _parse_flags)


def _run(
    main: Callable[[list[str]], None],
    argv: list[str],
    parser: Callable[[list[str]], list[str]],
) -> int:
    def flushed(given: list[str]) -> None:
        main(given)
        sys.stdout.flush()

    with streams.kept():
        try:
            interrupt.install()
            app.run(flushed, argv, flags_parser=parser)
        except UserError as error:
            _say(f"routejax: {error}")
            return 2
        except interrupt.Interrupted as signal:
            _say(interrupt.stopped(str(signal)))
            return interrupt.EXIT_CODE
        except SystemExit as ended:  # how absl ends what went well
            return int(ended.code or 0)
    return 0


def _say(line: str) -> None:
    """Prints the last line of the run; nobody can be told if that fails."""
    with suppress(UserError):
        print(line, file=sys.stderr, flush=True)


def _with_default(argv: list[str], default: str | None) -> list[str]:
    if default is None or any(_is_config(arg) for arg in argv[1:]):
        return argv
    return [argv[0], f"--config={default}", *argv[1:]]
