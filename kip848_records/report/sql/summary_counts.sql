SELECT count(*) AS groups, count_if(health = 'stuck') AS stuck, count_if(health = 'away') AS away,
    count_if(health = 'unknown') AS unknown, count_if(health = 'empty') AS empty, count_if(health = 'healthy') AS healthy
FROM stuck_now AS stuck
