-- For which groups is the history incomplete?
SELECT group_id, count(*) AS epochs, count_if(history IN ('left_censored', 'censored')) AS without_beginning,
       count_if(history IN ('right_censored', 'censored')) AS without_end
FROM epoch_timeline GROUP BY group_id HAVING count_if(history <> 'observed') > 0
ORDER BY without_beginning DESC, without_end DESC, group_id
