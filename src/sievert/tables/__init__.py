"""Tables on disk: channels, priors, points and codebooks in; results out, all or nothing."""
