"""Makes `fixtures/`: tiny random checkpoints of transformers with their logits.

    python tests/models/make_parity_fixtures.py

It needs the `parity` extra; the tests read what it wrote and need neither torch nor
transformers. Four layers, rows longer than the window, two key/value heads to four
query heads whose width is not E/H, and for OLMo 3 stretched positions of full layers.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import rope_forms
import torch
import transformers

FOLDER = Path(__file__).parent / "fixtures"
ROWS, LENGTH, WINDOW = 2, 40, 8

SIZES = {
    "vocab_size": 64,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {
    "rope_type": "yarn",
    "factor": 8.0,
    "original_max_position_embeddings": 32,
    "beta_fast": 4.0,
    "beta_slow": 0.5,
    "attention_factor": 1.2079441541679836,
}
OLMO3 = {
    "sliding_window": WINDOW,
    "rope_parameters": {
        "full_attention": YARN | {"rope_theta": 10_000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
    },
}


def _theta(theta: float) -> dict:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta}}


# Family, and the settings beyond `SIZES`.
MODELS = {
    "llama": ("Llama", {"rope_parameters": LLAMA3 | {"rope_theta": 5e5}}),
    "llama_tied": ("Llama", _theta(1e4) | {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", _theta(1e6)),
    "qwen3_tied": ("Qwen3", _theta(1e6) | {"tie_word_embeddings": True}),
    "olmo3": ("Olmo3", OLMO3),
    "olmo3_tied": ("Olmo3", OLMO3 | {"tie_word_embeddings": True}),
}


def build(name: str) -> torch.nn.Module:
    """A model whose norms are not one and whose logits are of the order of one."""
    family, settings = MODELS[name]
    sizes = {"tie_word_embeddings": False, "rms_norm_eps": 1e-6} | SIZES | settings
    config = getattr(transformers, f"{family}Config")(**sizes)
    model = getattr(transformers, f"{family}ForCausalLM")(config).float().eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 1:
                weight.add_(0.1 * torch.randn_like(weight))
            else:
                weight.mul_(8)
    return model


def require_plain_sliding_layers(model: torch.nn.Module) -> None:
    """Some releases of transformers stretched the sliding layers too."""
    rotary = model.model.rotary_emb
    sliding = rotary.sliding_attention_inv_freq.numpy()
    full = rotary.full_attention_inv_freq.numpy()
    plain = 10_000.0 ** (-np.arange(8) / 8)
    assert np.allclose(sliding, plain, rtol=1e-6)
    assert np.isclose(full[-1], plain[-1] / YARN["factor"])
    assert np.isclose(rotary.full_attention_attention_scaling, YARN["attention_factor"])
    assert rotary.sliding_attention_attention_scaling == 1


def main() -> None:
    for number, name in enumerate(MODELS):
        torch.manual_seed(number)
        model = build(name)
        if name.startswith("olmo3"):
            require_plain_sliding_layers(model)
        tokens = torch.randint(0, SIZES["vocab_size"], (ROWS, LENGTH))
        with torch.no_grad():
            logits = model(tokens).logits
        folder = FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        (folder / "model.safetensors").chmod(0o644)
        np.savez(
            folder / "logits.npz",
            tokens=tokens.numpy().astype(np.int32),
            logits=logits.numpy(),
        )
        print(name, "largest logit", float(logits.abs().max()))
    held = {form: turns(*rope_forms.FORMS[form]) for form in rope_forms.FORMS}
    (FOLDER / "rope_forms.json").write_text(json.dumps(held) + "\n")


def turns(name: str, changes: dict) -> dict:
    """Frequencies and the factor on cosines by layer type, for a changed config."""
    with tempfile.TemporaryDirectory() as folder:
        raw = json.dumps(rope_forms.config(name, changes))
        (Path(folder) / "config.json").write_text(raw)
        config = transformers.AutoConfig.from_pretrained(folder)
    rotary = transformers.AutoModelForCausalLM.from_config(config).model.rotary_emb
    if name != "olmo3":
        return {"full": (rotary.inv_freq.tolist(), rotary.attention_scaling)}
    return {
        kind.removesuffix("_attention"): (
            getattr(rotary, f"{kind}_inv_freq").tolist(),
            getattr(rotary, f"{kind}_attention_scaling"),
        )
        for kind in sorted(set(config.layer_types))
    }


if __name__ == "__main__":
    main()
