{# Return the rows that change the state of a coordinator, up to some offsets and a time: records whose transaction has
   ended, and rows in error, which hide the earlier values of their keys. #}
SELECT log.*
FROM {log} AS log
{% if has_offsets %}
LEFT JOIN {ends} AS ends ON log.partition = ends.place
{% endif %}
WHERE log.key IS NOT NULL
  AND (({{ is_record }} AND log.transaction <> 'pending')
       OR (log.error_code IS NOT NULL AND log.control IS NULL AND log.offset IS NOT NULL AND {{ is_of_log }}))
{% if has_offsets %}
  AND (ends.last_offset IS NULL OR log.offset <= ends.last_offset)
{% endif %}
{% if has_time %}
  AND log.timestamp <= (SELECT max(latest.until) FROM {latest} AS latest)
{% endif %}
