"""A study as something to read: one HTML page, and one table for the terminal.

Reads results, writes text; computes nothing that is not drawn.
"""

from routejax.report.page import render
from routejax.report.terminal import study_table

__all__ = ["render", "study_table"]
