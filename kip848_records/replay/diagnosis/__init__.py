"""Patterns over time in the rows of one group: what an operator would say of it after a week.

`diagnose.py` is the entrance. `observed.py` keeps the rows that the patterns read; `stays.py`, `holdings.py` and
`group_history.py` prepare them. One module a pattern, or a family of patterns, returns episodes (`episodes.py`);
`cost.py`, `severity.py` and `precedence.py` complete them, `sentences.py` says them in words, and `limits.py` has every
number with its reason.
"""
