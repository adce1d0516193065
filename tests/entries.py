"""Entries started in the process of a test, as often as it likes."""

import signal
from contextlib import contextmanager

from absl import flags

# How ml_collections loads a config file.
OLD_IMPORT = "ignore:the load_module:DeprecationWarning"


@contextmanager
def signals_kept():
    """What entries do about signals, and the flags they were given, end with this."""
    handlers = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        forget()
        for number, handler in handlers.items():
            signal.signal(number, handler)


def forget():
    """Brings absl's flags back to the state of a new process."""
    for name in list(flags.FLAGS):
        if name.startswith("config."):
            delattr(flags.FLAGS, name)
    flags.FLAGS.unparse_flags()
    for module, found in flags.FLAGS.flags_by_module_dict().items():
        if module.startswith("routejax."):
            for flag in found:
                flag.unparse()
    if "config" in flags.FLAGS:
        flags.FLAGS["config"].value = None
