"""The tests of this folder share their drawn graphs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = ["drawn_graphs.py"]
