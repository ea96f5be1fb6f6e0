{# How many there are that a question with an empty answer looked at, and of how many of them the log does not show it.
   `among`: SQL behind FROM. #}
SELECT count(*) AS looked_at, CAST(coalesce(sum(CASE WHEN {{ undecided }} THEN 1 ELSE 0 END), 0) AS bigint) AS undecided
FROM {{ among }}
