-- The present topology of a streams group, as JSON in the form of Kafka's own tools.
SELECT value
FROM latest_state
WHERE group_id = :group AND partition = :partition AND record = 'StreamsGroupTopology'
