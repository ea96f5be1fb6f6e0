"""What is expected of groups, read from TOML files."""

import pytest

from kip848_records.config import OFF, Setting, default_config, load_settings
from kip848_records.errors import InputError
from kip848_records.quality import EXPECTATIONS
from kip848_records.quality.expectations import ERROR, WARN, Expectation

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
        assert defaults[each.name].severity in (ERROR, WARN)
        assert tuple(defaults[each.name].limits) == each.limits
    changed = load(STABLE + 'max_seconds = 1.5\n[expectations.operation_size]\nseverity = "warn"')
    assert changed.pop("group_stable") == Setting(ERROR, {"max_seconds": 1.5})
    assert changed.pop("operation_size") == Setting(WARN, {"max_bytes": 1_048_588, "warn_percent": 80})
    assert changed == {name: defaults[name] for name in changed}
    assert load("") == load("[expectations]\n") == defaults


def test_groups_have_what_is_different_from_their_expectation(load):
    text = (
        STABLE + 'max_seconds = 9\n[expectations.group_stable.groups]\n"a*" = {severity = "off"}\nb = {max_seconds = 0}'
    )
    setting = load(text)["group_stable"]
    assert setting.groups == {"a*": Setting(OFF, {"max_seconds": 9}), "b": Setting(ERROR, {"max_seconds": 0})}
    assert list(setting.groups) == ["a*", "b"]


def test_an_expectation_of_ones_own_is_in_the_file_too(load):
    mine = Expectation("mine", lambda audited, _: audited.table("group_state"), ("max_members",))
    settings = load("[expectations.mine]\nmax_members = 3", expectations=[mine])
    assert settings["mine"] == Setting(ERROR, {"max_members": 3})
    assert set(settings) == {"mine", *(each.name for each in EXPECTATIONS)}
    assert load('[expectations.mine]\nseverity = "off"', expectations=[mine])["mine"] == Setting(OFF)
    without_limits = Expectation("mine", mine.rule)
    assert load_settings(expectations=[without_limits])["mine"] == Setting()
    with pytest.raises(InputError, match=r"expectations\.mine needs max_members"):
        load_settings(expectations=[mine])
    with pytest.raises(InputError, match=r"expectations\.mine needs max_members"):
        load(
            '[expectations.mine]\nseverity = "off"\n[expectations.mine.groups]\na = {severity = "warn"}',
            expectations=[mine],
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[expectations", "Expected ']'"),
        (b"\xff", "can't decode byte 0xff"),
        ("x = " + 10_000 * "[", "recursion"),
        ("[expectation]", "the file has no 'expectation': did you mean expectations?"),
        ("expectations = 1", "expectations is not a table"),
        ("[expectations.group_stabel]", "expectations has no 'group_stabel': did you mean group_stable?"),
        ("[expectations.x]", "expectations has no 'x': it may have group_stable, rebalance_lag"),
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
    assert raised.value.message.startswith(f"{tmp_path / 'check.toml'} is no configuration: ")
    assert reason in raised.value.message


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_settings(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="Is a directory"):
        load_settings(str(tmp_path))


def test_the_defaults_explain_every_number():
    for text in default_config().read_text().splitlines():
        name, equals, value = text.partition(" = ")
        if equals and not text.startswith("#") and name != "severity":
            assert " # " in value
