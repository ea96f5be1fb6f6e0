{# The partitions whose records below some offsets, `counted_until` by partition, are all later than :as_of. #}
SELECT log.partition
FROM log
WHERE log.cluster = :cluster AND log.content = 'record' AND (
{% for partition, offset in counted_until.items() %}
    {{ "OR " if not loop.first }}(log.partition = {{ partition }} AND log.offset < {{ offset }})
{% endfor %}
)
GROUP BY log.partition
HAVING min(log.timestamp) > CAST(:as_of AS timestamp)
