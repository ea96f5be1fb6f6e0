"""A Kafka client's settings are read as Kafka's tools read them, and their secrets are in no text."""

import json
from random import Random

import pytest
from pyspark.errors import IllegalArgumentException

from kip848_records.errors import InputError
from kip848_records.settings.properties import parse_properties
from kip848_records.sources.topic.client_properties import ClientSettings, read_client_settings


@pytest.fixture
def read(tmp_path):
    def read_text(text, encoding="latin-1"):
        path = tmp_path / "client.properties"
        path.write_text(text, encoding)
        return read_client_settings(str(path)).values

    return read_text


def refused(read, text):
    with pytest.raises(InputError) as caught:
        read(text)
    return caught.value


def test_java_s_own_notation(read):
    text = "# mine\n! and mine\nsecurity.protocol : SASL_SSL\nclient.id=caf\\u00e9 \\\n   noir\nssl.protocol  TLSv1.3\n"
    assert read(text) == {"security.protocol": "SASL_SSL", "client.id": "café noir", "ssl.protocol": "TLSv1.3"}


def test_the_url_names_the_servers(read):
    assert read("bootstrap.servers=other:9092\nclient.id=a") == {"client.id": "a"}


def test_references_are_resolved_here(read, tmp_path, monkeypatch):
    monkeypatch.setenv("KIP848_USER", "re$der")
    (tmp_path / "secrets.properties").write_text("password = p\\:w\u00fc\n", "utf-8")
    text = f"sasl.jaas.config=a ${{env:KIP848_USER}} b ${{file:{tmp_path}/secrets.properties:password}} c ${{x}}\n"
    assert read(text) == {"sasl.jaas.config": "a re$der b p:wü c ${x}"}


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("${env:KIP848_NOBODY}", "the environment has no variable KIP848_NOBODY"),
        ("${file:FOLDER/none.properties:password}", "FOLDER/none.properties holds no client settings: No such file"),
        ("${file:FOLDER/client.properties:pass}", "FOLDER/client.properties has no key pass"),
        ("${vault:secret/kafka:password}", "there is no provider vault of that form; use ${env:NAME}"),
        ("${env:a:b}", "there is no provider env of that form"),
        ("${file:b}", "there is no provider file of that form"),
    ],
)
def test_what_is_referred_to_and_missing_is_named(read, tmp_path, reference, reason):
    error = refused(read, f"ssl.key.password={reference.replace('FOLDER', str(tmp_path))}\n")
    assert reason.replace("FOLDER", str(tmp_path)) in str(error)


def test_all_settings_that_are_not_the_user_s_are_refused_in_one_line(read, tmp_path):
    names = [
        *("auto.offset.reset", "config.providers", "config.providers.env.class", "enable.auto.commit", "group.id"),
        *("group.instance.id", "group.protocol", "interceptor.classes", "isolation.level", "key.deserializer"),
        *("partition.assignment.strategy", "value.deserializer"),
    ]
    error = refused(read, "".join(f"{name}=hush\n" for name in reversed(names)) + "client.id=a\n")
    assert error.message.startswith(f"{tmp_path}/client.properties sets {', '.join(names)}, which ")
    assert "hush" not in str(error)


def test_names_as_for_spark_are_refused(read):
    error = refused(read, "kafka.security.protocol=SSL\nclient.id=a\n")
    assert "sets kafka.security.protocol, as for Spark; remove the prefix 'kafka.'" in str(error)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="none holds no client settings: No such file or directory; expected a client"):
        read_client_settings(f"{tmp_path}/none")
    with pytest.raises(InputError, match="holds no client settings: Is a directory"):
        read_client_settings(str(tmp_path))


def test_a_broken_escape(read):
    assert "a backslash u is not followed by" in str(refused(read, "sasl.password=hush\\u12\n"))
    assert "hush" not in str(refused(read, "sasl.password=hush\\u12\n"))


def test_values_are_in_no_representation():
    settings = ClientSettings({"client.id": "hush"})
    assert "hush" not in f"{settings} {settings!r}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('password="hu sh"', "hu sh"),
        ('password = "hu\\"sh"', 'hu"sh'),
        ("password='hush'", "hush"),
        ("password=hush", "hush"),
        ('clientId="x" clientSecret="hush"', "hush"),
    ],
)
def test_passwords_in_jaas_are_masked(written, meant):
    value = f'org.Module required username="reader" {written};'
    masked = ClientSettings({"sasl.jaas.config": value}).masked
    assert masked(f"user reader, {meant}!") == "user reader, ***!"
    assert masked(f"config {value}!") == "config ***!"
    assert masked(f"part {written}!").count("***") == 1


@pytest.mark.parametrize("name", ["ssl.key.password", "ssl.keystore.key", "sasl.password", "x.client.secret"])
def test_secrets_are_masked_by_their_names(name):
    settings = ClientSettings({name: "hush", "ssl.truststore.location": "/etc/trust", "client.id": "a"})
    assert settings.masked("hush at /etc/trust of a, hush") == "*** at /etc/trust of a, ***"


def test_a_secret_of_several_lines_is_masked_line_by_line():
    settings = ClientSettings({"ssl.keystore.key": "-----BEGIN\nMII\nxyz\n"})
    assert settings.masked("MII xyz, -----BEGIN MII") == "*** ***, *** ***"


def test_a_secret_within_another_does_not_uncover_the_rest():
    settings = ClientSettings({"a.password": "hush", "b.password": "hushhush1"})
    assert settings.masked("hushhush1") == "***"


def test_nothing_to_mask():
    assert ClientSettings({"a.password": "", "b.secret": " "}).masked("a b") == "a b"


def test_every_text_is_read_as_java_reads_it(classic):
    random, jvm = Random(1), classic._jvm  # noqa: S311
    as_json = jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString  # one call for all names
    parts = [*"\\\\\\\n\r\t\f  :=#!ab", "\r\n", "\\u00e9", "\\u", "\\n", "é", "key=value\n"]
    for _ in range(1000):
        text = "".join(random.choices(parts, k=random.randint(0, 20)))
        java = jvm.java.util.Properties()
        try:
            java.load(jvm.java.io.StringReader(text))
        except IllegalArgumentException:
            with pytest.raises(ValueError, match="four hexadecimal digits"):
                parse_properties(text)
        else:
            assert parse_properties(text) == json.loads(as_json(java)), repr(text)


def test_a_character_of_two_escapes():
    assert parse_properties("a=\\ud83d\\udc0d") == {"a": "\N{SNAKE}"}
