from ._answers import Answers as Answers
from ._arguments import policy_or_answers_of as policy_or_answers_of
from ._arguments import query_of as query_of
from ._arguments import query_over as query_over
from ._arguments import target_of as target_of
from ._policy import Policy as Policy
from ._query import Query as Query
