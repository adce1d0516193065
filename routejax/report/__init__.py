"""What people read: pages that need nothing else, and tables for the terminal.

Reads results, writes text; computes nothing that is not drawn. Each page is a module
that is imported by itself: that of a study needs scipy, which takes seconds to load.
"""
