"""The one exception that means: the person who started the program can mend this.

Entries print its message without a traceback and exit with status 2. Every other
exception is a defect of routejax and keeps its traceback.
"""


class UserError(ValueError):
    """What was wanted, what came, where, and what to change, in one message."""
