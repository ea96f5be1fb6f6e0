{# The first rows of each group in a section, and how many there are. `order`: what sorts them; `where`: which of them. #}
SELECT *
FROM (
    SELECT *, count(*) OVER (PARTITION BY partition, group_id) AS total,
        row_number() OVER (PARTITION BY partition, group_id ORDER BY {{ order }}) AS nth
    FROM rows_
    WHERE {{ where }}
) AS numbered
WHERE nth <= {{ limit }}
ORDER BY {{ order }}, partition, group_id
