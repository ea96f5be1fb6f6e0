-- name = "no_common_protocol"
-- sentence = "The members that use the classic protocol in a consumer group have an assignor in common"
-- severity = "warn"
-- needs = []
-- about = "consumer group with members of the classic protocol"

-- Else the coordinator cannot turn the group back into a classic one when its last consumer member leaves: the leave itself fails
-- (`ClassicGroup.fromConsumerGroup`). The record of a classic group has the chosen assignor only.
SELECT
    verdict(most < known, most < known OR known = members) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, CAST(NULL AS bigint) AS offset,
    concat(
        'expected the ', counted(members, member), ' with the classic protocol to have an assignor in common, ',
        CASE
            WHEN most >= known THEN concat('those of ', counted(members - known, member), ' are not in the log')
            WHEN protocols IS NULL THEN 'none has any'
            ELSE concat('no more than ', text(most), ' of ', text(known), ' have the same of ', protocols)
        END,
        ': if the last consumer member leaves, that fails, and the group does not go back'
    ) AS message
FROM common_protocols
