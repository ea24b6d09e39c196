"""What is released: channels, hypers, priors, composition and the privacy level of a channel."""

from sievert.channels.channel import Channel
from sievert.channels.hyper import Hyper
from sievert.channels.privacy import Epsilon, distinguishability, epsilon

__all__ = ["Channel", "Epsilon", "Hyper", "distinguishability", "epsilon"]
