"""The manifest is plain JSON and its hash of ids is that of the shell."""

import json
import shutil
import subprocess

import numpy as np

from routejax.selection import ids_sha256, manifest, select


def test_the_hash_is_that_of_the_shell():
    ids = ["b", "é", "a-10", "a-9", "B"]
    sort, digest = shutil.which("sort"), shutil.which("sha256sum")
    text = "".join(f"{name}\n" for name in ids).encode()
    assert sort
    assert digest
    lines = subprocess.run(
        [sort], input=text, env={"LC_ALL": "C"}, capture_output=True, check=True
    )
    told = subprocess.run([digest], input=lines.stdout, capture_output=True, check=True)
    assert ids_sha256(ids) == told.stdout.decode().split()[0]


def test_a_manifest_is_json_and_names_everything():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(30, 4))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    ids = [f"{i:02d}" for i in range(30)]
    chosen = select(
        "diverse",
        ids=ids,
        groups=["a", "b"] * 15,
        prompt_ids=ids,
        phi=phi.astype(np.float32),
        n=10,
    )
    made = manifest(
        chosen,
        inputs={"pool.parquet": "00"},
        config={"n": 10},
        rejected={"verified": 3},
    )
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["ids_sha256"] == ids_sha256(chosen.ids)
    assert made["selected"] == 10
    assert made["rejected"] == {"verified": 3}
    assert set(made["versions"]) == {"routejax", "numpy", "scikit-learn"}
    groups = made["selection"]["groups"]
    assert made["selection"]["K"] == 4
    assert made["selection"]["seed"] == 42
    for name in ("a", "b"):
        assert groups[name]["clusters_asked"] == 2
        assert sum(groups[name]["cluster_sizes"]) == groups[name]["eligible"] == 15
        assert sum(groups[name]["cluster_quotas"]) == groups[name]["budget"] == 5
        assert 0 < groups[name]["inertia"] < 15
