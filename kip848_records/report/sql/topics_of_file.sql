-- The topics that the user's file names.
SELECT DISTINCT topic FROM topic_name WHERE source = 'topics_file' ORDER BY topic
