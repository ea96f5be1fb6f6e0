"""What keeps a topic from being read is said in one line, soon; and nothing ever tells a password."""

import socket
import time
from contextlib import closing

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from kip848_records.errors import InputError
from kip848_records.sources.topic import failures
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.client import READ_COMMITTED, Brokers
from kip848_records.sources.topic.client_properties import ClientSettings
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.spark_rows import read_range
from tests.broker import settings
from tests.broker.clients import commit, make_topic, produce
from tests.broker.lookup import look_up
from tests.broker.offsets_topic import ends, group_in
from tests.broker.running import OFFSETS

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


def failure(topic):
    with pytest.raises(InputError) as caught:
        look_up(topic, isolation=READ_COMMITTED)
    assert "-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.fixture
def nobody():
    """The address of a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_no_broker(nobody):
    said = failure(topic_at(nobody, client()))
    assert said == (
        f"no broker answers at {nobody} (connection refused); check host, port and firewall of the servers in the "
        "URL; for a slow network, set socket.connection.setup.timeout.ms in the file of --kafka-config"
    )


def test_no_such_host():
    said = failure(topic_at("no-such-host.invalid:9092", client()))
    assert said.startswith("unknown host: no-such-host.invalid:9092; check the servers in the URL")


def test_one_server_of_two_is_enough(broker, nobody):
    topic = topic_at(f"{nobody},{broker.bootstrap}", ClientSettings())
    assert look_up(topic, isolation=READ_COMMITTED).offsets.keys() == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("at", "given", "expected", "login"),
    [
        ("tls", "PLAINTEXT", "SASL_SSL", " (SCRAM-SHA-512)"),
        ("tls", "SSL", "SASL_SSL", " (SCRAM-SHA-512)"),
        ("scram", "PLAINTEXT", "SASL_PLAINTEXT", " (SCRAM-SHA-512)"),
        ("bootstrap", "SSL", "PLAINTEXT", ""),
        ("bootstrap", "SASL_PLAINTEXT", "PLAINTEXT", ""),
        ("bootstrap", "SASL_SSL", "PLAINTEXT", ""),
    ],
)
def test_a_port_of_another_protocol(broker, at, given, expected, login):
    address, user = getattr(broker, at), settings.READER if given.startswith("SASL") else None
    said = failure(topic_at(address, client(user, given, **trusting(broker))))
    named = expected + (", sasl.mechanism and sasl.jaas.config" if login else "")
    assert said == (
        f"{address} expects security.protocol={expected}{login}, but the client has {given}; set security.protocol to "
        f"{named} in the file of --kafka-config, or check the port in the URL"
    )


def test_a_log_in_without_jaas(broker):
    said = failure(topic_at(broker.scram, client(protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-512")))
    assert said.startswith(
        "the client's settings have security.protocol=SASL_PLAINTEXT, but no sasl.jaas.config; set sasl.jaas.config in "
    )


def test_a_certificate_that_is_not_trusted(broker):
    said = failure(topic_at(broker.tls, client(settings.READER, "SASL_SSL")))
    assert said.startswith(f"the TLS connection to {broker.tls} failed: self-signed certificate")
    assert "ssl.truststore.location" in said


def test_tls_with_what_it_takes(broker):
    topic = topic_at(broker.tls, client(settings.READER, "SASL_SSL", **trusting(broker)))
    assert look_up(topic, isolation=READ_COMMITTED).offsets.keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("user", [("reader", "wrong-secret"), ("nobody", "x-secret")])
def test_a_wrong_password(broker, user):
    said = failure(topic_at(broker.scram, client(user, "SASL_PLAINTEXT")))
    assert said.startswith(f"the cluster at {broker.scram} rejects the login: Authentication failed")
    assert said.endswith("check security.protocol, sasl.mechanism and sasl.jaas.config in the file of --kafka-config")


def test_a_mechanism_that_the_cluster_does_not_have(broker):
    said = failure(topic_at(broker.scram, client(settings.READER, "SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256")))
    assert "rejects the login: it takes SCRAM-SHA-512, not SCRAM-SHA-256; " in said


def test_no_such_topic(broker):
    said = failure(topic_at(broker.bootstrap, client(), "nothing"))
    assert said.startswith(f"there is no topic nothing at {broker.bootstrap}; check the topic's name")
    assert "nothing" not in broker.admin.list_topics(timeout=5).topics


def test_the_user_may_not_describe_the_topic(broker):
    said = failure(topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT")))
    assert said == (
        f"the user may not describe topic {OFFSETS}; let an administrator allow Describe and Read on topic {OFFSETS}"
    )


def test_settings_of_the_topic_that_the_user_may_not_see(broker):
    topic = topic_at(broker.scram, client(settings.READER, "SASL_PLAINTEXT"))
    ends = look_up(topic, isolation=READ_COMMITTED)
    assert (ends.delete_retention_ms, ends.offsets_retention_ms) == (None, None)
    assert set(ends.topic_names.values()) == {OFFSETS}


def test_a_name_that_is_nearly_right(broker):
    said = failure(topic_at(broker.bootstrap, client(), "__consumer_offset"))
    assert said.startswith(f"there is no topic __consumer_offset at {broker.bootstrap}; similar: {OFFSETS}")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_broker_that_accepts_and_says_nothing(protocol):
    """Nobody knows what it expects."""
    user = ("u", "p") if protocol.startswith("SASL") else None
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        said = failure(topic_at(address, client(user, protocol, request_timeout_ms="300")))
    assert said.startswith(f"{address} accepts connections, but a Kafka client gets no answer; check security.protocol")
    assert time.monotonic() - began < 30  # 9 s are usual: three waits of 3 s


# Reading: what Spark says, on its driver and in its tasks.


def read(spark, topic, offsets=(0, 1)):
    with closing(Brokers.of(topic)) as brokers, failures_of(brokers):
        return read_range(spark, topic, {0: offsets}, isolation=READ_COMMITTED).collect()


def read_failure(spark, topic):
    with pytest.raises(InputError) as caught:
        read(spark, topic)
    assert "-secret" not in str(caught.value)
    return str(caught.value)


GROUPS = (ResourceType.GROUP, "kip848-records", ResourcePatternType.PREFIXED, AclOperation.DESCRIBE)


def test_the_user_may_not_describe_what_it_reads(spark, broker):
    said = read_failure(spark, topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT")))
    assert said.startswith(f"the user may not describe topic {OFFSETS}; let an administrator allow Describe and Read")


def test_the_user_may_describe_the_topic_but_not_read_it(spark, broker):
    make_topic(broker, "closed")
    produce(broker, "closed")
    topic = topic_at(broker.scram, client(settings.STRANGER, "SASL_PLAINTEXT"), "closed")
    describe = (ResourceType.TOPIC, "closed", ResourcePatternType.LITERAL, AclOperation.DESCRIBE)
    with broker.allowed(settings.STRANGER, describe, GROUPS):
        assert look_up(topic, isolation=READ_COMMITTED).offsets == {0: (0, 10)}
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
    """The offsets of one record in partition 0; those before it may be compacted by now."""
    make_topic(broker, "committed")
    commit(broker, group_in(0), {("committed", 0): 1})
    _, end = ends(broker)[0]
    return end - 1, end


def test_two_rules_for_the_topic_and_one_for_groups_are_enough(spark, broker, committed):
    with broker.allowed(settings.READER, GROUPS):
        for address, protocol in ((broker.scram, "SASL_PLAINTEXT"), (broker.tls, "SASL_SSL")):
            topic = topic_at(address, client(settings.READER, protocol, **trusting(broker)))
            assert len(read(spark, topic, committed)) == 1


def test_a_wrong_password_shows_when_spark_reads_too(spark, broker):
    said = read_failure(spark, topic_at(broker.scram, client(("reader", "wrong-secret"), "SASL_PLAINTEXT")))
    assert said.startswith(f"the cluster at {broker.scram} rejects the login: Authentication failed")


def test_a_partition_that_is_not_there(spark, broker):
    topic = topic_at(broker.bootstrap, client())
    told = f"the cluster at {broker.bootstrap} does not answer as expected: "
    with pytest.raises(InputError, match=told), failures_of(Brokers.of(topic)):
        read_range(spark, topic, {99: (0, 1)}, isolation=READ_COMMITTED).collect()


def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError, match="a"), failures_of(Brokers.of(topic_at("h:1", client()))):
        raise KeyError("a")


def test_a_session_without_the_connector():
    text = "[DATA_SOURCE_NOT_FOUND] Failed to find data source: kafka. Make sure the provider name is correct"
    told = r"without Spark's Kafka connector; add org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 to spark.jars"
    with pytest.raises(InputError, match=told), failures_of(Brokers.of(topic_at("h:1", client()))):
        raise RuntimeError(text)


def test_the_connector_that_is_asked_for_is_the_one_of_our_settings(spark):
    assert failures._CONNECTOR in spark.conf.get("spark.jars.packages").split(",")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "Caused by: org.apache.kafka.common.KafkaException: Failed to construct kafka consumer\n"
                "Caused by: org.apache.kafka.common.config.ConfigException: Invalid value soon for fetch.max.wait.ms\n"
            ),
            "Kafka's client rejects these settings: Invalid value soon for fetch.max.wait.ms; correct the file",
        ),
        (
            "Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: no callback handler\n",
            "the cluster at {} rejects the login: no callback handler; check security.protocol",
        ),
        (
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Timeout of 60 ms expired\n\tat a.b(c.java:1)",
            "the cluster at {} does not answer as expected: Timeout of 60 ms expired; see the brokers' logs",
        ),
    ],
)
def test_what_only_the_client_of_spark_meets(broker, text, said):
    brokers = Brokers.of(topic_at(broker.bootstrap, client()))
    with pytest.raises(InputError) as caught, failures_of(brokers):
        raise RuntimeError("Job aborted due to stage failure.\n" + text)
    assert str(caught.value).startswith(said.format(broker.bootstrap))


def test_a_cluster_that_is_gone_since_is_named_by_the_client_of_this_process(nobody):
    text = "org.apache.kafka.common.errors.TimeoutException: Timeout of 60 ms expired"
    with pytest.raises(InputError, match="no broker answers at"), failures_of(Brokers.of(topic_at(nobody, client()))):
        raise RuntimeError(text)


def test_other_errors_lose_their_secrets():
    topic = topic_at("h:1", client(("reader", "x-secret")))
    text = "java.lang.IllegalStateException: x-secret is short\n\tat a.b(c.java:1)"
    told = r"does not answer as expected: \*\*\* is short; "
    with pytest.raises(InputError, match=told) as caught, failures_of(Brokers.of(topic)):
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


def test_spark_shows_no_secret_of_what_it_reads(spark, broker, committed, event_log, capfd):
    topic = with_secrets(broker)
    rows = read_range(spark, topic, {0: committed}, isolation=READ_COMMITTED)
    assert rows.collect()
    rows.explain(extended=True)
    shown = str(rows) + str(rows._jdf.queryExecution()) + "".join(capfd.readouterr()) + event_log()
    assert "SparkListenerSQLExecutionStart" in shown
    assert "secret" not in shown


def with_secrets(broker):
    key = "-----BEGIN PRIVATE KEY-----\nysecret/ysecret+\nxsecret=\n-----END PRIVATE KEY-----"
    return topic_at(
        broker.scram, client(settings.ADMIN, "SASL_PLAINTEXT", ssl_keystore_key=key, sasl_password=key[:40])
    )
