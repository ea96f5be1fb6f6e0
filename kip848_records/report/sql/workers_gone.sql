-- The Connect workers that left connectors and tasks behind which no worker runs, those with most of them first.
-- is_back: a member with the same URL has come since; a restarted worker has a new member id.
SELECT tasks.group_id, tasks.partition, tasks.incarnation, coalesce(workers.worker, tasks.from_member) AS worker,
    stays.client_host, tasks.units, unix_millis(tasks.released_at) AS released_ms, coalesce(present.joined_offset >= tasks.released_offset, false) AS is_back
FROM (
    SELECT group_id, partition, incarnation, from_member, count(*) AS units, min(released_at) AS released_at,
        min(released_offset) AS released_offset
    FROM task_handover
    WHERE status = :open AND reason = 'worker_left' AND connector IS NOT NULL AND from_member IS NOT NULL
    GROUP BY group_id, partition, incarnation, from_member
) AS tasks
LEFT JOIN worker_urls AS workers
    ON workers.group_id = tasks.group_id AND workers.partition = tasks.partition
    AND workers.incarnation = tasks.incarnation AND workers.member_id = tasks.from_member
LEFT JOIN (
    SELECT latest.group_id, latest.partition, latest.incarnation, latest.worker_url,
        max(came.joined_offset) AS joined_offset
    FROM connect_assignment AS latest
    JOIN group_state AS states
        ON states.group_id = latest.group_id AND states.partition = latest.partition
        AND states.incarnation = latest.incarnation AND states.generation = latest.generation
    JOIN membership AS came
        ON came.group_id = latest.group_id AND came.partition = latest.partition
        AND came.incarnation = latest.incarnation AND came.member_id = latest.member_id
    GROUP BY latest.group_id, latest.partition, latest.incarnation, latest.worker_url
) AS present
    ON present.group_id = tasks.group_id AND present.partition = tasks.partition
    AND present.incarnation = tasks.incarnation AND present.worker_url = workers.worker_url
LEFT JOIN (
    SELECT group_id, partition, incarnation, member_id, max(client_host) AS client_host
    FROM membership
    GROUP BY group_id, partition, incarnation, member_id
) AS stays
    ON stays.group_id = tasks.group_id AND stays.partition = tasks.partition
    AND stays.incarnation = tasks.incarnation AND stays.member_id = tasks.from_member
ORDER BY tasks.group_id, tasks.partition, tasks.incarnation, tasks.units DESC, worker
