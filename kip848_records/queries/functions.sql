{# The functions that the SQL of an expectation or a report may call besides those that both engines have: a call is
   replaced by its text. Those that return a number for people are for the messages of expectations only. The comment before each says what it returns. `texts.py` has the values that they list. #}

{# Return `violation` or `pass`; `unknown` if the log does not show it. #}
{% macro verdict(violated, known) -%}
CASE WHEN ({{ known }}) AND ({{ violated }}) IS NOT NULL THEN CASE WHEN {{ violated }} THEN 'violation' ELSE 'pass' END
ELSE 'unknown' END
{%- endmacro %}

{# Return a value as text; `?` for null. #}
{% macro text(value) -%}
coalesce(CAST({{ value }} AS string), '?')
{%- endmacro %}

{# Return milliseconds for people, in the message of an expectation: `172 ms`, `4.1 s`, `1 h 5 min`. #}
{% macro duration(ms) -%}
{{ _said("duration", ms) }}
{%- endmacro %}

{# Return a time span, in the message of an expectation: `1.5 s`; `an unknown time` for null and for a negative one. #}
{% macro span(ms) -%}
{{ _said("span", ms) }}
{%- endmacro %}

{# Return a time span that may be longer, in the message of an expectation: `≥ 1 h 5 min`. #}
{% macro at_least(ms) -%}
{{ _said("at_least", ms) }}
{%- endmacro %}

{# Return a count with its thousands apart, in the message of an expectation: 27,194,001. #}
{% macro thousands(count) -%}
{{ _said("thousands", count) }}
{%- endmacro %}

{# Return a count with a word, which is not quoted, in the message of an expectation: `1 member`, `27,194,001 offsets`. #}
{% macro counted(count, what) -%}
{{ _said("counted " ~ what, count) }}
{%- endmacro %}

{# Return a SELECT with what an expectation says of the groups with committed offsets of which a relation has no row that
   fulfils the condition. Its limit `within`: for how long the commits of a group must be known. #}
{% macro none_is_seen(relation, condition) -%}
SELECT
    {{ verdict("false", "every.has_full_history OR coalesce(every.known_ms >= limits.within * 1000, false)") }},
    every.group_id, NULL, NULL, every.partition, NULL,
    concat('none is seen; its commits must be known for ', limits.within_text)
FROM committing_groups AS every
JOIN limits ON limits.group_id = every.group_id
WHERE NOT EXISTS (
    SELECT 1 FROM {{ relation }} AS found
    WHERE found.offsets_partition = every.partition AND found.group_id = every.group_id AND {{ condition }}
)
{%- endmacro %}

{# Return the sum of counts in a group of rows, null if all are null. None counts as more than 10^15: sums fit. #}
{% macro total(count) -%}
CAST(sum(CASE WHEN {{ count }} > 1000000000000000 THEN 1000000000000000 WHEN {{ count }} < 0 THEN 0 ELSE {{ count }} END) AS bigint)
{%- endmacro %}

{# Return a number of type double as a whole one, null if it is null. None is more than 10^15: it fits. #}
{% macro whole(number) -%}
CAST(round(CASE WHEN {{ number }} > 1e15 THEN CAST(1e15 AS double) ELSE {{ number }} END) AS bigint)
{%- endmacro %}

{# Return the sum of counts in a group of rows; null if one of them is null, which is not known then. #}
{% macro total_if_known(count) -%}
CASE WHEN count({{ count }}) = count(*) THEN {{ total(count) }} END
{%- endmacro %}

{# Return whether the run before the last one could not know what happened at a time; true at the first run. The text joins
   `run_before`, and `known_before` of the partition. #}
{% macro is_new(at) -%}
coalesce({{ at }} > coalesce(known_before.captured_at, run_before.captured_at), true)
{%- endmacro %}

{# Return whom or what a row of `diagnosis` is about, in a word; null for the whole group. #}
{% macro subject_name(subject) -%}
coalesce({{ subject }}.instance_id, {{ subject }}.client_id, {{ subject }}.member_id, {{ subject }}.what, {{ subject }}.regex)
{%- endmacro %}

{# Return the milliseconds from one timestamp to another; negative if a clock went back. #}
{% macro ms_between(start, end) -%}
(unix_millis({{ end }}) - unix_millis({{ start }}))
{%- endmacro %}

{# Return the milliseconds from one timestamp to another; null if a clock went back. #}
{% macro lasted_ms(start, end) -%}
CASE WHEN {{ ms_between(start, end) }} >= 0 THEN {{ ms_between(start, end) }} END
{%- endmacro %}

{# Return whether members of groups of this type have epochs; those of classic groups have generations only. #}
{% macro has_epochs(group_type) -%}
{{ _in(group_type, group_types("has_epochs")) }}
{%- endmacro %}

{# Return whether groups of this type are Stable in the log while they rebalance. #}
{% macro hides_rebalances(group_type) -%}
{{ _in(group_type, group_types("hides_rebalances")) }}
{%- endmacro %}

{# Return whether several members of groups of this type can have the same partition. #}
{% macro shares_units(group_type) -%}
{{ _in(group_type, group_types("shares_units")) }}
{%- endmacro %}

{# Return whether members of groups of this type have tasks, not partitions. #}
{% macro has_tasks(group_type) -%}
{{ _in(group_type, group_types("has_tasks")) }}
{%- endmacro %}

{# Return whether a group in this state rebalances; the states of some types of groups do not show it. #}
{% macro is_rebalancing(state) -%}
{{ _in(state, states.rebalancing) }}
{%- endmacro %}

{# Return the expectation that limits for how long a group may be in this state: `group_stable` or `streams_ready`. #}
{% macro limited_by(state) -%}
CASE WHEN {{ _in(state, states.converging) }} THEN 'group_stable'
WHEN {{ state }} = '{{ states.not_ready }}' THEN 'streams_ready' END
{%- endmacro %}

{# Return the causes of a rebalance, an array, as all reports word them. #}
{% macro causes_text(causes) -%}
{% set said = namespace(text="array_join(%s, ', ')" % causes) %}
{% for cause, text in wording.CAUSES.items() %}
{% set said.text = "replace(%s, '%s', '%s')" % (said.text, cause, text) %}
{% endfor %}
{{ said.text }}
{%- endmacro %}

{# Return why a committed offset was removed, in words, by `commit_jump.cause`: a presumption. #}
{% macro loss_text(cause) -%}
{{ _one_of(cause, wording.LOSSES, wording.OTHER_LOSS) }}
{%- endmacro %}

{# Return why a group went back to the classic protocol, in words, by `downgrades.by_replacement`. #}
{% macro downgrade_text(by_replacement) -%}
CASE WHEN {{ by_replacement }} IS NULL THEN '{{ wording.DOWNGRADES[none] }}'
WHEN {{ by_replacement }} THEN '{{ wording.DOWNGRADES[true] }}' ELSE '{{ wording.DOWNGRADES[false] }}' END
{%- endmacro %}

{# Return the place of an awaited partition or task, a struct of `rebalance_lag.awaited`: its topic, or its subtopology. #}
{% macro awaited_place(unit) -%}
coalesce({{ unit }}.topic, {{ unit }}.role || ' {{ wording.TASK_OF }} ' || {{ unit }}.subtopology_id)
{%- endmacro %}

{# Return the key type of a record by its name, which is not quoted: those of `protocol/key_types.py`. #}
{% macro record_type(name) -%}
{{ key_types[name] }}
{%- endmacro %}

{# Return whether a key type is that of an offset commit. #}
{% macro is_offset_commit(key_type) -%}
{{ _in(key_type, offset_commit_types) }}
{%- endmacro %}

{# Return for how many ms brokers keep the offsets of a group without members: their setting, Kafka's default if it is null. #}
{% macro offsets_kept_ms(setting) -%}
coalesce({{ setting }}, {{ offsets_retention_ms }})
{%- endmacro %}

{# Return the releases of Kafka that may have written a log, as text: the first and the last. #}
{% macro all_releases() -%}
'{{ refusals.releases_text(refusals.RELEASES) }}'
{%- endmacro %}

{# Return the releases of Kafka that have a known bug, as text, by its name, which is not quoted: those of `releases.toml`. #}
{% macro releases_with(bug) -%}
'{{ refusals.releases_text(refusals.KNOWN_BUGS[bug].has) }}'
{%- endmacro %}

{# Return the first release of Kafka without a known bug, by its name, which is not quoted. #}
{% macro fixed_in(bug) -%}
'{{ refusals.KNOWN_BUGS[bug].fixed_in[0] }}'
{%- endmacro %}

{# Return whether dialects differ on a key type. #}
{% macro is_disputed(key_type) -%}
{{ _in(key_type, disputed_types) }}
{%- endmacro %}

{% macro _in(value, those) -%}
({{ value }} IN ({% for each in those %}{{ "'%s'" % each if each is string else each }}{{ ", " if not loop.last }}{% endfor %}))
{%- endmacro %}

{% macro _one_of(value, words, other) -%}
CASE{% for each, text in words.items() %} WHEN {{ value }} = '{{ each }}' THEN '{{ text }}'{% endfor %} ELSE '{{ other }}' END
{%- endmacro %}

{# `marked_numbers.with_numbers` of Python replaces what is between two marks. #}
{% macro _said(form, number) -%}
concat('{{ number_mark }}{{ form }} ', coalesce(CAST({{ number }} AS string), 'null'), '{{ number_mark }}')
{%- endmacro %}
