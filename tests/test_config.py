"""What is expected of groups, read from TOML files."""

import pytest

from kip848_records.config import Setting, load_config, load_limits, load_settings
from kip848_records.errors import InputError
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.results import ERROR, OFF, WARN
from kip848_records.replay.diagnosis.limits import DEFAULTS, limits_of
from kip848_records.replay.diagnosis.patterns import SETTINGS
from kip848_records.replay.inputs import ChangedLimit

STABLE = "[expectations.group_stable]\n"


@pytest.fixture
def load(tmp_path):
    """Settings with a file of this text."""

    def load(text, **options):
        path = tmp_path / "check.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_settings(str(path), **options)

    return load


def test_every_expectation_has_defaults_and_a_file_has_what_is_different(load):
    defaults = load_settings()
    assert list(defaults) == [each.name for each in EXPECTATIONS]
    for each in EXPECTATIONS:
        assert defaults[each.name].severity in (ERROR, WARN, OFF)
        assert defaults[each.name].limits == {name: limit.default for name, limit in each.limits.items()}
    changed = load(STABLE + 'max_seconds = 1.5\n[expectations.operation_size]\nseverity = "warn"')
    assert changed.pop("group_stable") == Setting(ERROR, {"max_seconds": 1.5}, is_named=True)
    size = {"max_bytes": 1_048_588, "warn_percent": 80}
    assert changed.pop("operation_size") == Setting(WARN, size, is_named=True)
    assert changed == {name: defaults[name] for name in changed}
    assert load("") == load("[expectations]\n") == defaults


def test_groups_have_what_is_different_from_their_expectation(load):
    text = (
        STABLE + 'max_seconds = 9\n[expectations.group_stable.groups]\n"a*" = {severity = "off"}\nb = {max_seconds = 0}'
    )
    setting = load(text)["group_stable"]
    assert setting.groups == {
        "a*": Setting(OFF, {"max_seconds": 9}, is_named=True),
        "b": Setting(ERROR, {"max_seconds": 0}, is_named=True),
    }
    assert list(setting.groups) == ["a*", "b"]


OWN = """-- name = "mine"
-- sentence = "A group has at most max_members members"
-- [limits.max_members]
-- default = 3
-- unit = "members"
-- reason = "Few."

SELECT 1
"""


def test_an_expectation_of_ones_own_is_in_a_folder_that_the_file_names(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.sql").write_text(OWN)
    config = tmp_path / "audit.toml"
    config.write_text('expectation_files = "own"\n[expectations.mine]\nmax_members = 5')
    expectations, settings = load_config(str(config))
    assert [each.name for each in expectations] == [*(each.name for each in EXPECTATIONS), "mine"]
    assert settings["mine"] == Setting(ERROR, {"max_members": 5}, is_named=True)
    assert load_config(None, str(tmp_path / "own"))[1]["mine"] == Setting(ERROR, {"max_members": 3}, is_named=True)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("mine", "SELECT 1", "name in its header is None, not the name of the file"),
        ("mine", OWN.replace('"mine"', '"yours"'), "name in its header is 'yours'"),
        ("mine", OWN.replace("-- default", "-- defalt"), "limits.max_members needs default, unit and reason"),
        ("mine", OWN.replace("= 3", "= -3"), "the default of limits.max_members is -3"),
        ("mine", OWN.replace("-- [", '-- severity = "fatal"\n-- ['), "severity is 'fatal', not one of"),
        ("mine", OWN.replace("SELECT 1", ""), "there is no SELECT"),
        ("mine", "-- = 1\nSELECT 1", "its header is not TOML"),
        ("mine", f"-- rows_of = ['log']\n{OWN}", "rows_of is ['log'], not a table of an audit"),
        ("mine", f"-- rows_of = 'logs'\n{OWN}", "rows_of is 'logs', not a table of an audit"),
        ("mine", f"-- shared = 1\n{OWN}", "shared is 1, not true or false"),
        ("mine", f"-- shared = true\n{OWN}", "only expectations of kip848 share a text"),
        ("group_stable", OWN.replace("mine", "group_stable"), "kip848 has an expectation of that name"),
    ],
)
def test_a_file_that_is_no_expectation_is_named(tmp_path, name, text, reason):
    (tmp_path / f"{name}.sql").write_text(text)
    with pytest.raises(InputError) as raised:
        load_config(None, str(tmp_path))
    assert raised.value.message.startswith(f"{tmp_path / name}.sql is not an expectation: ")
    assert reason in raised.value.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[expectations", "Expected ']'"),
        (b"\xff", "can't decode byte 0xff"),
        ("x = " + 10_000 * "[", "recursion"),
        ("[diagnoses]", "the file has no 'diagnoses': did you mean diagnosis?"),
        ("[expectation]", "the file has no 'expectation': did you mean expectations?"),
        ("expectations = 1", "expectations is not a table"),
        ("[expectations.group_stabel]", "expectations has no 'group_stabel': did you mean group_stable?"),
        ("[expectations.x]", "expectations has no 'x': it may have restart_loop, leaves_and_returns"),
        ("[expectations]\ngroup_stable = 600", "expectations.group_stable is not a table"),
        (STABLE + "max_second = 1", "expectations.group_stable has no 'max_second': did you mean max_seconds?"),
        (STABLE + "max_percent = 1", "expectations.group_stable has no 'max_percent'"),
        (STABLE + 'severity = "fatal"', "expectations.group_stable.severity is 'fatal', not one of error, warn, off"),
        (STABLE + "severity = 1", "expectations.group_stable.severity is 1, not one of"),
        (STABLE + "severity = []", "expectations.group_stable.severity is [], not one of"),
        (STABLE + "groups = 1", "expectations.group_stable.groups is not a table"),
        (STABLE + "groups = {a = 1}", "expectations.group_stable.groups.'a' is not a table"),
        (STABLE + "groups = {a = {max_second = 1}}", "groups.'a' has no 'max_second': did you mean max_seconds?"),
        (STABLE + "groups = {a = {groups = {}}}", "groups.'a' has no 'groups'"),
        (STABLE + "groups = {a = {max_seconds = -1}}", "groups.'a'.max_seconds is -1, not a number"),
        *(
            (STABLE + f"max_seconds = {value}", f"expectations.group_stable.max_seconds is {seen}, not a number from 0")
            for value, seen in {
                "-1": "-1",
                "-0.5": "-0.5",
                "nan": "nan",
                "inf": "inf",
                "1e400": "inf",
                "1e13": "10000000000000.0",
                "1" + 400 * "0": "1" + 400 * "0",
                "true": "True",
                '"600"': "'600'",
                "[1]": "[1]",
                "2026-01-01": "datetime.date(2026, 1, 1)",
            }.items()
        ),
    ],
)
def test_what_cannot_be_is_named(load, tmp_path, text, reason):
    with pytest.raises(InputError) as raised:
        load(text)
    assert raised.value.message.startswith(f"{tmp_path / 'check.toml'} is not a valid configuration: ")
    assert reason in raised.value.message


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_settings(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="Is a directory"):
        load_settings(str(tmp_path))


STORM = "[diagnosis.storm]\n"


def limits(folder, text):
    (folder / "limits.toml").write_text(text)
    return load_limits(str(folder / "limits.toml"))


def test_limits_of_the_diagnosis_are_in_the_same_file(tmp_path):
    text = STABLE + "max_seconds = 9\n" + STORM + "moments = 9\nenabled = true\n"
    text += "[diagnosis.job]\nenabled = false\n[diagnosis.all_patterns]\nerror_share = 0.5\n"
    text += '[diagnosis.storm.groups]\nb = {within_seconds = 1.5}\n"a*" = {enabled = false, moments = 2}'
    assert limits(tmp_path, text) == (
        ChangedLimit("storm", None, "moments", 9),
        ChangedLimit("storm", None, "enabled", 1),
        ChangedLimit("storm", "b", "within_seconds", 1.5),
        ChangedLimit("storm", "a*", "enabled", 0),
        ChangedLimit("storm", "a*", "moments", 2),
        ChangedLimit("job", None, "enabled", 0),
        ChangedLimit("all_patterns", None, "error_share", 0.5),
    )
    settings = load_config(str(tmp_path / "limits.toml"))[1]
    assert settings["group_stable"].limits == {"max_seconds": 9}
    assert limits(tmp_path, STABLE) == ()


def test_the_defaults_in_a_file_change_nothing(tmp_path):
    lines = []
    for pattern, settings in SETTINGS.items():
        lines += [f"[diagnosis.{pattern}]", *(f"{name} = {each.default}" for name, each in settings.items())]
    changes = limits(tmp_path, "\n".join(lines))
    assert len(changes) == sum(map(len, SETTINGS.values()))
    changed = limits_of(changes, "g")
    assert all(changed[each] == DEFAULTS[each] for limits in SETTINGS.values() for each in limits.values())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("diagnosis = 1", "diagnosis is not a table"),
        ("[diagnosis.strom]", "diagnosis has no 'strom': did you mean storm?"),
        ("[diagnosis]\nstorm = 3", "diagnosis.storm is not a table"),
        (STORM + "moment = 3", "diagnosis.storm has no 'moment': did you mean moments?"),
        (STORM + "group = 3", "diagnosis.storm has no 'group': did you mean groups?"),
        (STORM + 'severity = "off"', "diagnosis.storm has no 'severity': it may have moments, within_seconds, "),
        (STORM + "groups = 1", "diagnosis.storm.groups is not a table"),
        (STORM + "groups = {a = 1}", "diagnosis.storm.groups.'a' is not a table"),
        (STORM + "groups = {a = {}}", "diagnosis.storm.groups.'a' is empty: name a limit, perhaps with its default"),
        (STORM + "groups = {a = {groups = {}}}", "diagnosis.storm.groups.'a' has no 'groups'"),
        (
            STORM + "groups = {a.b = {moments = 3}}",
            "groups.'a' has no 'b': it may have moments, within_seconds, young_s",
        ),
        (STORM + "groups = {a.b = {moments = 3}}", "; an id with dots needs quotes"),
        ("[diagnosis.storm_across.groups]", "diagnosis.storm_across has no 'groups': it is about many groups together"),
        (
            "[diagnosis.storm_across]\nmin_groups = 1",
            "diagnosis.storm_across.min_groups is 1, not a whole number from 2",
        ),
        ("[diagnosis.all_patterns]\nenabled = false", "diagnosis.all_patterns has no 'enabled'"),
        ("[diagnosis.all_patterns]\nerror_share = 10", "error_share is 10, not a number from 0 to 1"),
        ("[diagnosis.job]\nruns = 2", "diagnosis.job.runs is 2, not a whole number from 3 to 1,000,000"),
        (STORM + "enabled = 0", "diagnosis.storm.enabled is 0, not true or false"),
        (STORM + "moments = 2.5", "diagnosis.storm.moments is 2.5, not a whole number from 2 to 1,000,000"),
        (STORM + "moments = 1", "diagnosis.storm.moments is 1, not a whole number"),
        (STORM + "moments = true", "diagnosis.storm.moments is True, not a whole number"),
        (STORM + "moments = -1", "diagnosis.storm.moments is -1, not a whole number"),
        (STORM + "moments = 10000000", "diagnosis.storm.moments is 10000000, not a whole number"),
        (STORM + 'within_seconds = "1h"', "diagnosis.storm.within_seconds is '1h', not a number from 0 to 1e+12"),
        (STORM + "within_seconds = -1", "diagnosis.storm.within_seconds is -1, not a number"),
        (STORM + "within_seconds = nan", "diagnosis.storm.within_seconds is nan, not a number"),
        (STORM + "groups = {a = {moments = 1}}", "diagnosis.storm.groups.'a'.moments is 1, not a whole number"),
    ],
)
def test_a_limit_of_the_diagnosis_that_cannot_be_is_named(tmp_path, text, reason):
    for load in (limits, lambda folder, _: load_config(str(folder / "limits.toml"))):
        with pytest.raises(InputError) as raised:
            load(tmp_path, text)
        assert raised.value.message.startswith(f"{tmp_path}/limits.toml is not a valid configuration: ")
        assert reason in raised.value.message
        assert "docs/reference/diagnosis.md" in raised.value.hint
