"""`python -m atlas.satellite`: what `atlas satellite` and `atlas-satellite` run."""

from __future__ import annotations

import sys

from atlas.satellite.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
