-- Which static members went away, and did a successor or the expiry end their membership?
SELECT away.group_id, stay.instance_id, away.from_at AS went_at, away.to_at AS until, stay.left_how
FROM member_state_timeline away
JOIN membership stay ON stay.group_id = away.group_id AND stay.incarnation = away.incarnation
  AND stay.group_type = away.group_type AND stay.member_id = away.member_id AND stay.joined_offset <= away.from_offset
  AND coalesce(stay.left_offset > away.from_offset, true)
WHERE away.state = 'away' ORDER BY went_at, away.group_id, stay.instance_id
