"""Tables and figures of the source papers, made anew; each entry says agrees or erratum."""
