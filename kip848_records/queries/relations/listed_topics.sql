-- The topics of the list of all topics: the user's file, or those of a live cluster. No row without a list.
SELECT DISTINCT names.topic FROM topic_name AS names WHERE names.source IN ('topics_file', 'cluster')
