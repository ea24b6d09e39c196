"""Which mechanism is safer, against everybody: the average, max and privacy refinement orders."""
