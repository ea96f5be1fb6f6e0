{# The counts of rebalances that ended, by outcome, and their durations. `is_new`: a condition on `rebalance`. #}
{% set measured = "CASE WHEN history = 'observed' AND NOT duration_is_minimum AND NOT clock_skew THEN duration_ms END" %}
SELECT
{% for outcome in outcomes %}
    count(CASE WHEN outcome = '{{ outcome }}' THEN 1 END) AS {{ outcome }},
{% endfor %}
    count({{ measured }}) AS count,
    CAST(coalesce(sum({{ measured }}), 0) AS bigint) AS sum_ms,
{% for percent in (50, 95, 99) %}
    CAST(round(percentile({{ measured }}, {{ percent / 100 }})) AS bigint) AS p{{ percent }}_ms,
{% endfor %}
    max({{ measured }}) AS max_ms
FROM rebalance
WHERE cluster = :cluster AND outcome IN {{ outcomes }} AND ended_offset IS NOT NULL AND ({{ is_new }})
