"""Every form of rotary settings is the model that transformers makes of it, or refused.

`fixtures/rope_forms.json` has the frequencies of transformers, by form and layer type.
"""

import json

import numpy as np
import parity_folders
import pytest
import rope_forms

from routejax.errors import UserError
from routejax.models import rotary
from routejax.models.weights.published import read_config, write_config

HELD = json.loads((parity_folders.FOLDER / "rope_forms.json").read_text())


@pytest.mark.parametrize("form", rope_forms.FORMS)
def test_parity_of_frequencies(form):
    raw = rope_forms.config(*rope_forms.FORMS[form])
    family, config = read_config(raw)
    assert HELD[form].keys() == {*config.layer_types}
    for kind, (wanted, factor) in HELD[form].items():
        found, mine = rotary.frequencies(config, kind)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert mine == pytest.approx(factor, rel=1e-12)
    # What is written of it is the same again.
    assert read_config(write_config(family, config, "float32")) == (family, config)


def test_the_forms_are_not_all_alike():
    """Most tell which length, theta or object was taken."""
    seen = {json.dumps(HELD[form], sort_keys=True) for form in rope_forms.FORMS}
    assert len(seen) > len(rope_forms.FORMS) / 2


@pytest.mark.parametrize("form", rope_forms.REFUSED)
def test_forms_that_are_refused(form):
    name, changes, words = rope_forms.REFUSED[form]
    with pytest.raises(UserError, match=words):
        read_config(rope_forms.config(name, changes))
