"""Which files paths name, and what is said of those that name none."""

import os
import socket
import tempfile
from pathlib import Path

import pytest
from pool_files import WRITERS

from routejax.errors import UserError
from routejax.pools import open_pool
from routejax.pools.paths import find_files, naming

ROWS = [{"id": f"r{i}", "prompt": f"{i}?", "response": "A"} for i in range(3)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("b.jsonl", "in/a.jsonl"):
        WRITERS["jsonl"](tmp_path / name, ROWS)
    return tmp_path


@pytest.fixture
def as_nobody():
    """A folder of a user without rights of root, as whom the test then runs."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        if user == 0:
            os.chown(made, 65534, -1)
            os.seteuid(65534)
        yield Path(made)
        for at, folders, files in os.walk(made):
            for name in (*folders, *files):
                (Path(at) / name).chmod(0o755)
        os.seteuid(user)


def test_a_file_is_taken_once_by_its_shortest_path(folder):
    (folder / "in/self").symlink_to(folder)
    (folder / "in/z.jsonl").symlink_to(folder / "b.jsonl")
    around = folder / "in/../b.jsonl"
    found = find_files([folder / "**", folder, around, folder / "b.jsonl"])
    assert found.files == (str(folder / "b.jsonl"), str(folder / "in/a.jsonl"))
    assert str(around) in found.repeated
    assert str(folder / "b.jsonl") in found.repeated  # named twice as it is
    assert open_pool([folder, folder]).rows == 6
    assert len(open_pool([folder, folder]).repeated) == 4  # two of them the link's
    (folder / "in/self").unlink()
    (folder / "in/z.jsonl").unlink()
    assert find_files(str(folder / "**")) == (found.files, ())


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


ODD = {  # what is there → what is said
    "a pipe": (os.mkfifo, "is no regular file, but a device, a pipe or a socket"),
    "a socket": (make_socket, "is no regular file, but a device"),
    "a loop": (lambda path: path.symlink_to(path), "is a link that leads to no"),
    "a link to nothing": (lambda path: path.symlink_to("no"), "is a link that leads"),
    "nothing": (lambda path: None, r"does not exist; check the path"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_file(what, tmp_path):
    make, said = ODD[what]
    make(tmp_path / "p")
    with pytest.raises(UserError, match=rf"p {said}"):
        find_files(tmp_path / "p")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/dev/null", "is no regular file"),
        ("gs://bucket/a.parquet", "is an address, but only files of this machine"),
        ("https://x.org/a.jsonl", "is an address"),
        ("~nobody-of-this-name/x", "home directory.*; name the whole path"),
        (
            "/no/[y]/*.parquet",
            r"no pool file .*; a name with \[ is written with \[\[\]",
        ),
        ("/no/\udcff.parquet", "does not exist"),
    ],
)
def test_paths_that_lead_nowhere(path, said):
    with pytest.raises(UserError, match=said):
        find_files(path)


def test_a_name_that_is_not_utf8(folder):
    (folder / "b.jsonl").rename(folder / "\udcff.jsonl")
    for path in (folder, str(folder / "*.jsonl")):
        with pytest.raises(UserError, match=r"pool file .*udcff.* is not UTF-8"):
            find_files(path)


@pytest.mark.parametrize("path", ["", "shut.jsonl", "shut/a.jsonl", "shut/*", "shut"])
def test_what_may_not_be_read(path, as_nobody):
    """Of a folder too, where the rest would be read without a word."""
    (as_nobody / "shut").mkdir()
    for name in ("a.jsonl", "shut/a.jsonl", "shut.jsonl"):
        WRITERS["jsonl"](as_nobody / name, ROWS)
    for name in ("shut", "shut.jsonl"):
        (as_nobody / name).chmod(0)
    with pytest.raises(UserError, match=r"shut.* cannot be read \(Permission denied\)"):
        open_pool(as_nobody / path if path else as_nobody)


NAMING = {  # path → whether it names out/rows.parquet, out/parts/p.parquet of the pool
    "": (True, True),
    "out": (True, True),
    "**": (True, True),
    "**/*.parquet": (True, True),
    "*": (True, True),
    "o?t": (True, True),
    "*/*.parquet": (True, False),
    "*/parts/*": (False, True),
    "*.parquet": (False, False),
    "train*": (False, False),
    "*/train.parquet": (False, False),
    "out/rows.parquet": (False, False),  # a file by its name is what was asked for
    "other": (False, False),
}


@pytest.mark.parametrize("path", NAMING)
def test_paths_that_would_name_a_file(path, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    files = tmp_path / "out/rows.parquet", tmp_path / "out/parts/p.parquet"
    given = ["/no/such", str(tmp_path / path)]
    assert tuple(naming(given, f) is not None for f in files) == NAMING[path]


def test_hidden_folders_are_not_named(tmp_path):
    for path in (tmp_path, tmp_path / "*"):
        assert naming([str(path)], tmp_path / ".out/rows.parquet") is None


def test_a_folder_is_named_through_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for one, other in (("real", "link"), ("link", "real")):
        assert naming([str(tmp_path / one)], tmp_path / other / "out/rows.parquet")
