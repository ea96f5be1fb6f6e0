-- question = "For which groups is the history incomplete?"
-- note = "For classic groups and Connect clusters, generations are counted."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "The history of every group is complete"
SELECT group_id, count(*) AS epochs, count_if(history IN ('left_censored', 'censored')) AS without_beginning,
       count_if(history IN ('right_censored', 'censored')) AS without_end
FROM (
  SELECT group_id, history FROM epoch_timeline
  UNION ALL SELECT group_id, history FROM classic_generation
) AS epochs
GROUP BY group_id HAVING count_if(history <> 'observed') > 0
ORDER BY without_beginning DESC, without_end DESC, group_id
