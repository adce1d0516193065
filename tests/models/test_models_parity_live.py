"""transformers loads what we save, and answers the same; with the `parity` extra."""

import json
import shutil

import jax.numpy as jnp
import numpy as np
import parity_folders
import pytest
import rope_forms

from routejax.models import Places, weights

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# Both libraries warn of their own age and platform.
pytestmark = pytest.mark.filterwarnings("ignore")


def answers(folder, tokens):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(torch.tensor(tokens).long()).logits.float().numpy()


@pytest.mark.parametrize("name", parity_folders.NAMES)
@pytest.mark.parametrize("like", [True, False])
@pytest.mark.parametrize("shard_bytes", [5_000_000_000, 9000])
def test_parity_of_what_transformers_loads(name, like, shard_bytes, tmp_path):
    origin = parity_folders.FOLDER / name
    student, params = weights.load(origin)
    out = tmp_path / "out"
    settings = {"shard_bytes": shard_bytes, "like": origin if like else None}
    weights.save(out, student, params, **settings)
    tokens, logits = parity_folders.logits(name)
    assert np.abs(answers(out, tokens) - logits).max() < 1e-6


@pytest.mark.parametrize("name", ["llama", "olmo3"])
def test_parity_in_bfloat16(name, tmp_path):
    student, params = weights.load(parity_folders.FOLDER / name)
    weights.save(tmp_path / "half", student, params, dtype="bfloat16")
    config = json.loads((tmp_path / "half/config.json").read_text())
    assert config["torch_dtype"] == "bfloat16"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "half")
    assert model.dtype == torch.bfloat16
    back = weights.load(tmp_path / "half")[1]["embedding"]
    theirs = model.get_input_embeddings().weight.detach().float().numpy()
    assert np.array_equal(np.asarray(back, np.float32), theirs)


@pytest.mark.parametrize("form", rope_forms.FORMS)
def test_parity_of_rotary_settings(form, tmp_path):
    """As long as the positions differ: rows longer than any length that is said."""
    name, changes = rope_forms.FORMS[form]
    shutil.copy(parity_folders.FOLDER / name / "model.safetensors", tmp_path)
    raw = rope_forms.config(name, changes)
    (tmp_path / "config.json").write_text(json.dumps(raw))
    tokens = np.random.default_rng(0).integers(0, 64, (2, 100))
    student, params = weights.load(tmp_path)
    ones = jnp.ones(tokens.shape, jnp.int32)
    places = Places(segments=ones, positions=jnp.cumsum(ones, 1) - 1)
    hidden, _ = student.forward(params, jnp.asarray(tokens), places)
    mine = np.asarray(student.logits(params, hidden))
    assert np.abs(answers(tmp_path, tokens) - mine).max() < 1e-4
