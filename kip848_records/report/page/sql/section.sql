{# The first rows of each group in a section of the page, and how many there are. `order`: what sorts them. #}
SELECT *
FROM (
    SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
        row_number() OVER (PARTITION BY partition, group_id ORDER BY {{ order }}) AS nth
    FROM rows_
) AS numbered
WHERE nth <= {{ limit }}
ORDER BY partition, group_id, nth
