"""Numbers: logarithms that do not underflow, exact rationals, linear programs."""
