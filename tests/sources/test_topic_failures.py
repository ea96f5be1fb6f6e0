"""What keeps a topic from being read is said in one line, soon; and nothing ever tells a password."""

import socket
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kip848_records.errors import InputError
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.admin import READ_COMMITTED
from kip848_records.sources.topic.client_properties import ClientSettings
from kip848_records.sources.topic.ends import look_up
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.rows import read_range, stream
from tests.broker import settings
from tests.broker.clients import commit, make_topic, produce
from tests.broker.offsets_topic import group_in
from tests.broker.running import OFFSETS, done

QUICK = {"request.timeout.ms": "1000", "default.api.timeout.ms": "1500"}
_LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="%s" password="%s";'


def client(user=None, protocol="PLAINTEXT", **more):
    """Settings of a client that does not wait for long."""
    login = {} if user is None else {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": _LOGIN % user}
    return ClientSettings(
        QUICK | {"security.protocol": protocol} | login | {k.replace("_", "."): v for k, v in more.items()}
    )


def trusting(broker):
    return {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(broker.truststore)}


def topic_at(address, found, name=OFFSETS):
    return Topic(f"kafka://{address}/{name}", address, name, found)


def failure(spark, topic):
    with pytest.raises(InputError) as caught:
        look_up(spark, topic, isolation=READ_COMMITTED)
    assert "-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__
    return str(caught.value)


@pytest.fixture
def nobody():
    """The address of a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_no_broker(spark, nobody):
    said = failure(spark, topic_at(nobody, client()))
    assert said == (
        f"no broker answers at {nobody}; check host, port and firewall of the servers in the URL; for a slow network, "
        "set socket.connection.setup.timeout.ms in the file of --kafka-config"
    )


def test_no_such_host(spark):
    said = failure(spark, topic_at("no-such-host.invalid:9092", client()))
    assert said.startswith("unknown host: no-such-host.invalid:9092; check the servers in the URL")


def test_one_server_of_two_is_enough(spark, broker, nobody):
    topic = topic_at(f"{nobody},{broker.bootstrap}", ClientSettings())
    assert look_up(spark, topic, isolation=READ_COMMITTED).offsets.keys() == {0, 1, 2, 3}


def test_no_tls_to_a_port_that_wants_it(spark, broker):
    said = failure(spark, topic_at(broker.tls, client()))
    assert said.startswith(
        f"{broker.tls} expects TLS, but the client's settings do not turn it on; set security.protocol"
    )


def test_tls_to_a_port_that_has_none(spark, broker):
    said = failure(spark, topic_at(broker.bootstrap, client(protocol="SSL")))
    assert said.startswith(f"{broker.bootstrap} accepts connections, but not with TLS as the client's settings require")


def test_no_log_in_where_one_is_asked_for(spark, broker):
    said = failure(spark, topic_at(broker.scram, client()))
    assert said == (
        f"{broker.scram} expects a SASL login (SCRAM-SHA-512), but the client's settings have none; "
        "set security.protocol to SASL_PLAINTEXT, sasl.mechanism and sasl.jaas.config in the file of --kafka-config"
    )


def test_tls_without_the_log_in_that_is_asked_for(spark, broker):
    said = failure(spark, topic_at(broker.tls, client(protocol="SSL", **trusting(broker))))
    assert said.startswith(f"{broker.tls} expects a SASL login (SCRAM-SHA-512), but ")
    assert "; set security.protocol to SASL_SSL, " in said


def test_a_log_in_without_jaas(spark, broker):
    said = failure(spark, topic_at(broker.scram, client(protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-512")))
    assert said.startswith(
        "the client's settings have security.protocol=SASL_PLAINTEXT, but no sasl.jaas.config; set sasl.jaas.config in "
    )


def test_a_certificate_that_is_not_trusted(spark, broker):
    said = failure(spark, topic_at(broker.tls, client(settings.READER, "SASL_SSL")))
    assert said.startswith(f"the TLS connection to {broker.tls} failed: unable to find valid certification path")
    assert "ssl.truststore.location" in said


def test_tls_with_what_it_takes(spark, broker):
    topic = topic_at(broker.tls, client(settings.READER, "SASL_SSL", **trusting(broker)))
    assert look_up(spark, topic, isolation=READ_COMMITTED).offsets.keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("user", [("reader", "wrong-secret"), ("nobody", "x-secret")])
def test_a_wrong_password(spark, broker, user):
    said = failure(spark, topic_at(broker.scram, client(user, "SASL_PLAINTEXT")))
    assert said.startswith(f"the cluster at {broker.scram} rejects the login: Authentication failed")
    assert said.endswith("check security.protocol, sasl.mechanism and sasl.jaas.config in the file of --kafka-config")


def test_a_mechanism_that_the_cluster_does_not_have(spark, broker):
    said = failure(
        spark, topic_at(broker.scram, client(settings.READER, "SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256"))
    )
    assert "rejects the login: Client SASL mechanism 'SCRAM-SHA-256' not enabled in the server" in said


def test_a_log_in_that_nobody_asks_for(spark, broker):
    said = failure(spark, topic_at(broker.bootstrap, client(settings.READER, "SASL_PLAINTEXT")))
    assert f"the cluster at {broker.bootstrap} rejects the login: Unexpected handshake request" in said


def test_no_such_topic(spark, broker):
    said = failure(spark, topic_at(broker.bootstrap, client(), "nothing"))
    assert said.startswith(f"there is no topic nothing at {broker.bootstrap}; check the topic's name")
    assert "nothing" not in broker.admin.list_topics(timeout=5).topics


def test_the_user_may_not_describe_the_topic(spark, broker):
    said = failure(spark, topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT")))
    assert said == (
        f"the user may not describe topic {OFFSETS}; let an administrator allow Describe and Read on topic {OFFSETS}"
    )


def test_settings_of_the_topic_that_the_user_may_not_see(spark, broker):
    topic = topic_at(broker.scram, client(settings.READER, "SASL_PLAINTEXT"))
    ends = look_up(spark, topic, isolation=READ_COMMITTED)
    assert (ends.delete_retention_ms, ends.offsets_retention_ms) == (None, None)
    assert set(ends.topic_names.values()) == {OFFSETS}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"security_protocol": "TLS"}, "Invalid value TLS for configuration security.protocol"),
        ({"request_timeout_ms": "20s"}, "Invalid value 20s for configuration request.timeout.ms: Not a number"),
        (
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_jaas_config": 'a.Module required password="x-secret"',
            },
            "JAAS config entry not terminated by semi-colon",
        ),
        (
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_jaas_config": 'a.Module required password="x-secret";',
            },
            "No LoginModule found for a.Module",
        ),
        ({"security_protocol": "SSL", "ssl_truststore_location": "/none.p12"}, "Failed to load SSL keystore /none.p12"),
        ({"security_protocol": "SSL", "ssl_keystore_key": "y-secret", "ssl_keystore_type": "PEM"}, "SSL"),
        (
            {"sasl_password": "x-secret", "request_timeout_ms": "x-secret"},
            "Invalid value *** for configuration request",
        ),
    ],
)
def test_settings_that_kafka_does_not_take(spark, broker, more, says):
    said = failure(spark, topic_at(broker.bootstrap, client(**more)))
    assert said.startswith("Kafka's client rejects these settings: ")
    assert says in said


# Reading: what Spark says, on its driver and in its tasks.


def read(spark, topic):
    with failures_of(topic, "read"):
        return read_range(spark, topic, {0: (0, 1)}, isolation=READ_COMMITTED).collect()


def read_failure(spark, topic):
    with pytest.raises(InputError) as caught:
        read(spark, topic)
    assert "-secret" not in str(caught.value)
    return str(caught.value)


@contextmanager
def allowed(broker, user, *rules):
    """Let a user do more for the time of the block."""
    bindings = [
        AclBinding(kind, name, pattern, f"User:{user[0]}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operation in rules
    ]
    done(broker.admin.create_acls(bindings))
    try:
        yield
    finally:
        done(broker.admin.delete_acls([AclBindingFilter(*vars_of(binding)) for binding in bindings]))


def vars_of(rule):
    return (
        *(rule.restype, rule.name, rule.resource_pattern_type, rule.principal, rule.host),
        *(rule.operation, rule.permission_type),
    )


GROUPS = (ResourceType.GROUP, "kip848-records", ResourcePatternType.PREFIXED, AclOperation.DESCRIBE)


def test_the_user_may_not_describe_what_it_reads(spark, broker):
    said = read_failure(spark, topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT")))
    assert said.startswith(f"the user may not read topic {OFFSETS}; let an administrator allow Describe and Read")


def test_the_user_may_describe_the_topic_but_not_read_it(spark, broker):
    make_topic(broker, "closed")
    produce(broker, "closed")
    topic = topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT"), "closed")
    describe = (ResourceType.TOPIC, "closed", ResourcePatternType.LITERAL, AclOperation.DESCRIBE)
    with allowed(broker, settings.STRANGER, describe, GROUPS):
        assert look_up(spark, topic, isolation=READ_COMMITTED).offsets == {0: (0, 10)}
        said = read_failure(spark, topic)
    assert said == "the user may not read topic closed; let an administrator allow Describe and Read on topic closed"


def test_the_user_may_not_ask_about_groups(spark, broker):
    said = read_failure(spark, topic_at(broker.scram, client(settings.READER, "SASL_PLAINTEXT")))
    assert said == (
        "the user may not describe the group id with which Spark reads; "
        "let an administrator allow Describe on groups with the prefix kip848-records"
    )


@pytest.fixture(scope="module")
def committed(broker):
    """A record in partition 0."""
    make_topic(broker, "committed")
    commit(broker, group_in(0), {("committed", 0): 1})


@pytest.mark.usefixtures("committed")
def test_two_rules_for_the_topic_and_one_for_groups_are_enough(spark, broker):
    with allowed(broker, settings.READER, GROUPS):
        for address, protocol in ((broker.scram, "SASL_PLAINTEXT"), (broker.tls, "SASL_SSL")):
            assert read(spark, topic_at(address, client(settings.READER, protocol, **trusting(broker))))


def test_a_wrong_password_shows_when_spark_reads_too(spark, broker):
    said = read_failure(spark, topic_at(broker.scram, client(("reader", "wrong-secret"), "SASL_PLAINTEXT")))
    assert said.startswith(f"the cluster at {broker.scram} rejects the login: Authentication failed")


def test_a_partition_that_is_not_there(spark, broker):
    topic = topic_at(broker.bootstrap, client())
    with (
        pytest.raises(InputError, match="accepts connections, but a Kafka client gets no answer"),
        failures_of(topic, "read"),
    ):
        read_range(spark, topic, {99: (0, 1)}, isolation=READ_COMMITTED).collect()


def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError, match="a"), failures_of(topic_at("h:1", client()), "read"):
        raise KeyError("a")


def test_other_errors_lose_their_secrets():
    topic = topic_at("h:1", client(("reader", "x-secret")))
    text = "java.lang.IllegalStateException: x-secret is short\n\tat a.b(c.java:1)"
    told = r"does not answer as expected: \*\*\* is short; "
    with pytest.raises(InputError, match=told) as caught, failures_of(topic, "read"):
        raise RuntimeError(text)
    assert caught.value.__suppress_context__


@pytest.fixture
def event_log(spark, tmp_path_factory):
    """Spark's own listener that writes what a history server shows, added to the session that is there."""
    jvm, context = spark._jvm, spark.sparkContext._jsc.sc()
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    folder = tmp_path_factory.mktemp("events")
    configuration = context.conf().clone().set("spark.eventLog.compress", "false")
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "app", none, jvm.java.net.URI(f"file:{folder}"), configuration, context.hadoopConfiguration()
    )
    listener.start()
    context.addSparkListener(listener)

    def text():
        context.listenerBus().waitUntilEmpty()
        listener.stop()
        context.removeSparkListener(listener)
        return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())

    return text


@pytest.mark.usefixtures("committed")
def test_spark_shows_no_secret_of_what_it_reads(spark, broker, event_log, capfd):
    topic = with_secrets(broker)
    rows = read_range(spark, topic, {0: (0, 1)}, isolation=READ_COMMITTED)
    assert rows.collect()
    rows.explain(extended=True)
    shown = str(rows) + str(rows._jdf.queryExecution()) + "".join(capfd.readouterr()) + event_log()
    assert "SparkListenerSQLExecutionStart" in shown
    assert "secret" not in shown


@pytest.mark.usefixtures("committed")
def test_spark_shows_no_secret_of_a_stream(spark, broker, event_log, tmp_path, capfd):
    rows = stream(spark, with_secrets(broker), [0], {0: 0}, isolation=READ_COMMITTED)
    rows.explain(extended=True)
    kept = tmp_path / "checkpoint"
    writing = rows.writeStream.format("noop").option("checkpointLocation", str(kept))
    query = writing.trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    query.explain(extended=True)
    shown = str(rows._jdf.queryExecution()) + str(query.lastProgress) + "".join(capfd.readouterr()) + event_log()
    assert "== Physical Plan ==" in shown
    assert "SparkListenerSQLExecutionStart" in shown
    assert "secret" not in shown + "".join(path.read_text("latin-1") for path in kept.rglob("*") if path.is_file())


def with_secrets(broker):
    key = "-----BEGIN PRIVATE KEY-----\nysecret/ysecret+\nxsecret=\n-----END PRIVATE KEY-----"
    return topic_at(
        broker.scram, client(settings.ADMIN, "SASL_PLAINTEXT", ssl_keystore_key=key, sasl_password=key[:40])
    )
