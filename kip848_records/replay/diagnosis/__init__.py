"""Patterns over time in the rows of one group: what an operator would say of it after a week.

`diagnose.py` is the entrance. `observed.py` keeps the rows that the patterns read; `stays.py`, `holdings.py` and
`group_history.py` prepare them. One module a pattern, or a family of them, makes a `Pattern` (`pattern.py`): what it
finds, as episodes (`episodes.py`), its words, its limits, and what explains it. `patterns.py` lists them; `cost.py`,
`severity.py` and `precedence.py` complete their episodes.
"""
