{# The rows of a dump that are records, with what is counted by key. #}
SELECT
    {{ columns.partition }} AS partition, CAST({{ columns.offset }} AS bigint) AS place, {{ columns.timestamp }} AS timestamp,
    {{ columns.key }} AS key, {{ columns.value }} AS value
FROM {dump} AS dump
WHERE {{ is_readable }}
