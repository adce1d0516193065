"""`python -m routejax.fingerprint`: what it prints, and every mistake in one line."""

import importlib
import re
import subprocess
import sys

import pytest
from entries import OLD_IMPORT, forget, signals_kept
from features_pools import hashes, row, write_pool, write_rows
from fingerprint_runs import DOLCI, ROOT, over

CORPORA = ("openthoughts3", "intellect3", "nemotron_cascade2", "dolci")
POOLS = ("rlve_pool", "omega", "sokoban", "single_teacher")

pytestmark = pytest.mark.filterwarnings(OLD_IMPORT)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture
def entry():
    """Not imported above, where the filter of warnings does not hold yet."""
    return importlib.import_module("routejax.fingerprint")


@pytest.fixture
def command(entry, monkeypatch, capsys, tmp_path):
    """Runs the program in this process: status, and the lines of stdout and stderr."""
    monkeypatch.chdir(ROOT)

    def call(*given, workdir=tmp_path / "run"):
        forget()
        config = () if any(flag.startswith("--config=") for flag in given) else (DOLCI,)
        argv = ["fingerprint", *config, f"--workdir={workdir}", *given]
        monkeypatch.setattr(sys, "argv", argv)
        status = entry.run_program(entry.main)
        out, err = capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    with signals_kept():
        yield call


def test_a_whole_run_says_what_came_out(paths, command, tmp_path):
    status, out, err = command(*over(paths))
    assert (status, err) == (0, [])
    beats, said = [n for n in out if n.startswith("fingerprint: ")], out[-2:]
    assert re.fullmatch(r"fingerprint: 61/61  [\d,.]+ rows/s  \d+ s  done", beats[-1])
    assert out == [*beats, *said]
    assert said == [
        "60 traces of 61 rows, 57 eligible; rejected: 1 non_empty, 1 complete_span, "
        "1 distinct_id, 1 unreadable/json",
        f"Manifest: {tmp_path / 'run/manifest.json'}",
    ]
    before = hashes(tmp_path / "run")
    assert command(*over(paths))[0] == 0
    assert hashes(tmp_path / "run") == before


def test_the_last_shard_collects(paths, command, tmp_path):
    for number, done in ((2, 9), (1, 17)):
        status, out, _ = command(*over(paths, f"--config.shard={number}/2"))
        assert status == 0
        assert out[0].startswith(f"fingerprint {number}/2: ")
        finished = (tmp_path / "run/manifest.json").exists()
        assert finished == (done == 17)
        assert finished or out[1] == (
            "9 of 17 parts are done; the shard that makes the last one writes the "
            "moments and the manifest"
        )


def test_fields_can_be_placed_on_the_command_line(command, tmp_path):
    rows = [{"Q": row(n)["prompt"], "A": row(n)["response"], "T": n} for n in range(3)]
    pool = write_rows(tmp_path / "odd.parquet", rows)
    status, _, err = command(f"--config.pool.paths={pool}")
    assert status == 2
    assert "odd.parquet is not a pool: it has A, Q, T" in err[-1]
    placed = [f"--config.pool.columns.{field}" for field in ("prompt=Q", "response=A")]
    given = (f"--config.pool.paths={pool}", *placed)
    assert command(*given, "--config.pool.columns.group=T")[0] == 2  # none is verified
    status, out, _ = command(*over([pool]), *placed, workdir=tmp_path / "two")
    assert (status, out[1]) == (0, "3 traces of 3 rows, 3 eligible")


# What is wrong: flags (POOL stands for the files), and what the line must say.
MISTAKES = {
    "no config": (["--config="], "no config file"),
    "no pool": ([], "no pool was named; set pool.paths to files, folders or globs"),
    "only commas": (["--config.pool.paths=,"], "no pool was named"),
    "no such file": (["--config.pool.paths=/no/such.parquet"], "such.parquet does not"),
    "family": (
        ["POOL", "--config.fingerprint.family=corpse"],
        "family must be one of corpus, dolci, rlve, omega, sokoban, got 'corpse'",
    ),
    "testbed": (
        ["POOL", "--config.fingerprint.testbed=x"],
        "testbed must be one of rlve, omega, .*, got 'x'",
    ),
    "moments_over": (
        ["POOL", "--config.fingerprint.moments_over=some"],
        "moments_over must be one of all, eligible, got 'some'",
    ),
    "engine": (
        ["POOL", "--config.fingerprint.engine=gpu"],
        "engine must be one of auto, arrays, reference, got 'gpu'",
    ),
    "engine of another family": (
        [
            "POOL",
            "--config.fingerprint.engine=arrays",
            "--config.fingerprint.family=omega",
        ],
        "engine 'arrays' knows the families corpus, dolci",
    ),
    "layout": (
        ["POOL", "--config.pool.layout=x"],
        "layout must be auto or one of .*'x'",
    ),
    "field of columns": (
        ["POOL", "--config.pool.columns.promt=x"],
        "'promt' among: answer, completion, difficulty, env",
    ),
    "column": (
        ["POOL", "--config.pool.columns.group=x"],
        "column 'x', named for 'group'",
    ),
    "shard 0": (["POOL", "--config.shard=0/4"], "shard must be K/N .* got '0/4'"),
    "shard 5/4": (["POOL", "--config.shard=5/4"], "shard must be K/N .* got '5/4'"),
    "shard x": (["POOL", "--config.shard=x"], "1 <= K <= N, such as 3/64; got 'x'"),
    "threads 0": (["POOL", "--config.threads=0"], "threads must be a whole .* got 0"),
    "threads x": (["POOL", "--config.threads=x"], "config.threads.*x"),
    "rows_per_part": (
        ["POOL", "--config.fingerprint.rows_per_part=0"],
        r"rows_per_part must be a whole number in 1\.\.16384, got 0",
    ),
    "too many rows": (
        ["POOL", "--config.fingerprint.rows_per_part=99999999"],
        r"rows_per_part must be a whole number in 1\.\.16384",
    ),
    "threads": (["POOL", "--config.threads=1000"], r"in 1\.\.256, got 1000"),
    "shard in other digits": (["POOL", "--config.shard=²/²"], "shard must be K/N"),
    "shard of Beam": (
        ["POOL", "--config.beam.runner=DirectRunner", "--config.shard=1/2"],
        "leave out it or the shard",
    ),
    "quotes of Beam": (
        ["POOL", "--config.beam.runner=DirectRunner", "--config.beam.options='"],
        'beam.options "\'" cannot be read: No closing quotation',
    ),
    "recipe of another entry": (
        ["--config=configs/rlve.py:smoke"],
        "recipe .* is not one of fingerprints; choose configs/openthoughts3.py",
    ),
    "no variant": (
        ["--config=configs/openthoughts3.py:small"],
        "openthoughts3.py has no variant 'small'",
    ),
    "no user": (
        ["--config.pool.paths=~nosuchuser/x"],
        "~nosuchuser/x: Could not determine home dir.*; name the",
    ),
    "no regular file": (["--config.pool.paths=/dev/null"], "is no regular file"),
    "unknown field": (["POOL", "--config.shards=1/2"], "'shards' among: beam, "),
    "html": (["POOL", "--html=page.html"], "name it with --explain=ID"),
    "no page": (
        ["POOL", "--explain=t1", "--html="],
        "--html must be the name of a file",
    ),
    "page in a folder": (["POOL", "--explain=t1", "--html=."], "name of a file.* '.'"),
    "address": (["--config.pool.paths=gs://b/x.parquet"], "is an address, but only"),
    "id that is not UTF-8": (["POOL", "--explain=\udcff"], "the id must be UTF-8"),
    "no such id": (
        ["POOL", "--explain=t00041"],
        "no trace of the pool has the id 't00041'; the nearest are 't0041', 't0004', ",
    ),
    "family without steps": (
        ["POOL", "--explain=t0001", "--config.fingerprint.family=omega"],
        "'omega' labels no steps in the text; .* does: corpus, dolci, rlve",
    ),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(what, paths, command, tmp_path):
    given, said = MISTAKES[what]
    pool = f"--config.pool.paths={','.join(paths)}"
    status, _, err = command(*(pool if flag == "POOL" else flag for flag in given))
    assert status == 2
    assert err[-1].startswith("routejax: ")
    assert re.search(said, err[-1])
    assert len(err) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("pool", ["{}", "{}/**", "{}/*", "{}/*/*.parquet"])
def test_a_folder_inside_of_the_pool_is_refused(pool, command, tmp_path):
    """Its tables would be taken for a part of the pool the next time."""
    write_rows(tmp_path / "a.parquet", [row(1)])
    for _ in range(2):
        status, _, err = command(*over([pool.format(tmp_path)]))
        assert status == 2
        assert "lies in the pool's folder" in err[0]
        assert "choose another --workdir" in err[0]
        assert not (tmp_path / "run").exists()


def test_a_folder_beside_the_pool_is_none_of_it(command, tmp_path):
    path = write_rows(tmp_path / "a.parquet", [row(1)])
    for given in (path, f"{tmp_path}/*.parquet"):
        assert command(*over([given]), workdir=tmp_path / "a b")[0] == 0


def test_a_file_with_a_comma_and_one_named_twice(command, tmp_path):
    path = write_rows(tmp_path / "a, b.parquet", [row(1)])
    assert command(*over([path]))[0] == 0
    plain = write_rows(tmp_path / "c.parquet", [row(2)])
    given = f"{plain}, {tmp_path}/../{tmp_path.name}/c.parquet"
    status, out, _ = command(*over([given]), workdir=tmp_path / "two")
    assert status == 0
    assert out[0].startswith("left out, as the same file is named already: ")
    assert out[-2].startswith("1 traces of 1 rows")


def test_the_folder_of_another_job(paths, command):
    assert command(*over(paths))[0] == 0
    status, _, err = command(*over(paths, "--config.fingerprint.family=corpus"))
    assert status == 2
    assert "holds fingerprints of another job; it differs in family: 'dolci'" in err[0]
    status, _, err = command(*over(paths[:1]), "--explain=t0001")
    assert status == 2
    assert "b.jsonl, only there" in err[0]


def test_a_folder_that_cannot_be_written(paths, command, tmp_path):
    (tmp_path / "file").touch()
    status, _, err = command(*over(paths), workdir=tmp_path / "file/run")
    assert status == 2
    assert re.fullmatch(r"routejax: cannot write .*file/run.*: Not a dir.*", err[0])


def test_beam_that_is_not_installed(paths, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    sys.modules.pop("routejax.features.beam", None)
    status, _, err = command(*over(paths, "--config.beam.runner=DirectRunner"))
    assert status == 2
    assert err == [
        "routejax: beam.runner needs Apache Beam, which is not installed; pip install "
        '"routejax[beam]", or leave the runner empty'
    ]


def test_a_trace_is_explained_with_and_without_its_pool(paths, command, tmp_path):
    page = tmp_path / "page.html"
    status, out, _ = command(*over(paths), "--explain=t0010", f"--html={page}")
    assert status == 0
    assert any("backtracking" in line for line in out)
    assert page.read_text().startswith("<!")
    assert not (tmp_path / "run").exists()
    command(*over(paths))
    status, more, _ = command(*over(paths), "--explain=t0010")
    assert status == 0
    assert len(more) > 10
    assert more != out[:-1]


def test_what_is_printed_of_a_trace_says_whether_it_is_eligible(paths, command):
    _, out, _ = command(*over(paths), "--explain=t0003")
    assert out[2].startswith("not eligible: non_empty, ")


def test_features_are_listed_with_their_definitions(command):
    status, out, _ = command("--features")
    assert status == 0
    assert len(out) == 631
    assert all(re.fullmatch(r"\S.*\t\S.*", line) for line in out)


@pytest.mark.parametrize("name", [*CORPORA, *POOLS])
def test_every_recipe_opens_a_job(name, command, paths):
    """Its names exist: the only mistake left is that nothing is verified."""
    given = (f"--config=configs/{name}.py", f"--config.pool.paths={paths[0]}")
    status, out, err = command(*given, "--config.threads=1")
    if name in POOLS or name == "dolci":
        assert status == 2
        assert re.search(
            r"none of 30 rows is eligible \(rejected: 2\d verified", err[0]
        )
    else:
        assert (status, out[1][:37]) == (0, "30 traces of 30 rows, 28 eligible; re")


def test_a_shard_is_read_as_it_is_written(entry):
    assert entry.parse_shard("3/64") == (3, 64)
    assert entry.parse_shard("1/1") == (1, 1)


def test_what_only_a_look_at_one_trace_needs_is_not_loaded():
    """Report and scipy take longer to import than everything else."""
    program = (
        "import sys, routejax.fingerprint\n"
        "heavy = ('scipy', 'jax', 'numba', 'apache_beam', 'routejax.report')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    line = [sys.executable, "-c", program]
    said = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
