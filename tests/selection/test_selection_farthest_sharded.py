"""The picks of devices are the reference's, on one, two, four and eight of them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.selection import farthest_sharded
from routejax.selection.farthest import farthest_picks

# Prints hashes of what all engines pick: farthest points with several starts, and
# inside clusters.
SCRIPT = """
import hashlib, sys
import jax, numpy as np
from routejax.selection import farthest_sharded
from routejax.selection.farthest import farthest_picks
from routejax.selection.farthest_within import cluster_picks

farthest_sharded._RENEWED, farthest_sharded._OFFERED = 256, 128
assert jax.device_count() == int(sys.argv[1])
rng = np.random.default_rng(0)
phi = rng.normal(size=(1201, 8)) + 2 * rng.normal(size=(25, 8)).repeat(49, 0)[:1201]
phi = np.rint(4080 * phi / np.linalg.norm(phi, axis=1, keepdims=True)).astype(np.int16)
phi[[3, 400, 700, 1100, 1200]] = phi[650]
labels = rng.integers(60, size=len(phi))
quotas = np.bincount(labels) // 3

def digest(arrays):
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()

for engine in sys.argv[2:]:
    found = [digest(farthest_picks(phi, 300, s, engine=engine)) for s in (None, 1200)]
    found.append(digest(farthest_picks(phi[:200], 200, engine=engine)))
    found.append(digest(farthest_picks(phi[:1].repeat(40, 0), 40, engine=engine)))
    print(engine, *found, digest(cluster_picks(phi, labels, quotas, engine=engine)))
"""


def hashes(devices, *engines):
    flag = f"--xla_force_host_platform_device_count={devices}"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(devices), *engines],
        env=os.environ | {"XLA_FLAGS": flag, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return [line.split()[1:] for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_any_number_of_devices():
    reference, lazy, one = hashes(1, "reference", "cpu", "jax")
    assert reference == lazy == one
    for devices in (2, 4, 8):
        assert hashes(devices, "jax") == [reference], devices


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_any_part_of_the_devices(devices, monkeypatch):
    """Most rows are held back: of 1,400, few are renewed and fewer offered."""
    monkeypatch.setattr(farthest_sharded, "_RENEWED", 48)
    monkeypatch.setattr(farthest_sharded, "_OFFERED", 16)
    rng = np.random.default_rng(5)
    rows = rng.integers(-40, 41, (1400, 4)).astype(np.int16)
    rows[[1, 699, 700, 701, 1399]] = rows[350]
    mesh = farthest_sharded.row_mesh(devices)
    found = farthest_sharded.picks(rows, 300, mesh=mesh)
    expected = farthest_picks(rows, 300)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@given(st.integers(0, 999), st.data())
@settings(deadline=None, max_examples=60)
def test_ties_on_eight_devices(seed, data):
    """Rounds so small that most rows are held back, and one program for all cases."""
    rows = np.random.default_rng(seed).integers(-3, 4, (60, 2)).astype(np.int16)
    rows[[7, 21, 22, 48, 59]] = rows[30]
    count = data.draw(st.integers(1, 60))
    start = data.draw(st.none() | st.integers(0, 59))
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {"_RENEWED": 8, "_OFFERED": 8, "_PICKS": 4}.items():
            patch.setattr(farthest_sharded, name, size)
        patch.setattr(farthest_sharded, "_FEW", 3)
        found = farthest_picks(rows, count, start, engine="jax")
    expected = farthest_picks(rows, count, start)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_the_largest_squares_do_not_overflow():
    rows = np.array([[4096], [-4096], [4095], [-4095], [0]] + [[1]] * 5, np.int16)
    picks, distance = farthest_picks(rows, 10, start=0, engine="jax")
    expected = farthest_picks(rows, 10, start=0)
    assert np.array_equal(picks, expected[0])
    assert np.array_equal(distance, expected[1])


def test_jax_is_not_imported_by_the_package():
    code = "import sys, routejax.selection; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
