"""What the scripts of chapter 5 share: the COMPAS aggregate, and the printed numbers."""

from __future__ import annotations

import numpy as np

# Rows custody: pretrial defendant, residential program, probation, parole, jail inmate, prison inmate;
# columns marital: single, significant other, married, separated, divorced, widowed.
COMPAS = [
    [1838, 46, 269, 61, 127, 20],
    [15, 0, 1, 0, 0, 0],
    [27, 0, 6, 3, 3, 0],
    [1, 0, 0, 0, 0, 0],
    [7135, 338, 1159, 227, 390, 39],
    [5, 0, 0, 0, 0, 0],
]
# Custody against itself.
CUSTODY = np.diag(np.sum(COMPAS, axis=1)).tolist()
