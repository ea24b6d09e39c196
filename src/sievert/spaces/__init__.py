"""What values there are, how far apart they are, and what must stay hidden."""

from sievert.spaces.graph import Graph
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy
from sievert.spaces.query import Answers, Query
from sievert.spaces.secrets import SecretGraph

__all__ = ["Answers", "Graph", "Metric", "Policy", "Query", "SecretGraph"]
