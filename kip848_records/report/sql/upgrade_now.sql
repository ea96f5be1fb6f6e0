SELECT states.partition, states.incarnation, states.generation, protocol_type, members, upgradable, upgradable_reason
FROM group_state AS states
WHERE states.group_id = :group AND group_type = 'classic'
ORDER BY states.partition
