"""`python -m dslint`. Python puts the working folder in front of its path here; what lies there is linted, not imported."""

import sys


def without_working_folder() -> None:
    """Take the folder out that `-m` puts in front. With -P, -I or PYTHONSAFEPATH it is not there."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated and sys.path:
        here = sys.path[0]
        import os

        if here in ("", os.getcwd()):
            del sys.path[0]


without_working_folder()

from dslint.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
