"""Which characters a plain text replaces, byte for byte as `segment.normalise` does.

Every kind of white space becomes a space or a line break, every kind of quote and
apostrophe the plain one. A plain text is never longer than its source.
"""

from __future__ import annotations

import numpy as np

from routejax.fingerprints.engine.kernel import inlined

# First bytes of what is replaced: 1 a space, 2 of a longer character, 3 CR.
LEADS = np.zeros(256, np.uint8)
LEADS[[0xC2, 0xCA, 0xE1, 0xE2, 0xE3, 0xEF]] = 2
LEADS[[0x09, 0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x1F]] = 1
LEADS[0x0D] = 3


@inlined
def replaced(lead, second, third):
    """The plain byte for a character of two or three bytes, 0 if it stays."""
    if lead == 0xC2:
        return 10 if second == 0x85 else (32 if second == 0xA0 else 0)
    if lead == 0xCA:
        return 39 if second == 0xBC else 0
    if lead == 0xE1:
        return 32 if second == 0x9A and third == 0x80 else 0
    if lead == 0xE3:
        return 32 if second == 0x80 and third == 0x80 else 0
    if lead == 0xEF:
        if second == 0xBC:
            return 34 if third == 0x82 else (39 if third == 0x87 else 0)
        return 0
    if second == 0x81:
        return 32 if third == 0x9F else 0
    if second != 0x80:
        return 0
    if third <= 0x8A or third == 0xAF:
        return 32
    if third in (0x98, 0x99):
        return 39
    if third in (0x9C, 0x9D):
        return 34
    return 10 if third in (0xA8, 0xA9) else 0
