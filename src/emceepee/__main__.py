"""`python -m emceepee`: the command line."""

import sys

from emceepee.cli.main import main

sys.exit(main())
