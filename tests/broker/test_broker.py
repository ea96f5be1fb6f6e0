"""The broker of the tests is what its fixture says."""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.broker import settings

WITH_PASSWORD = ["SASL_PLAINTEXT", "SASL_SSL"]


def login(broker, user, protocol):
    name, password = user
    return {
        "bootstrap.servers": broker.tls if protocol == "SASL_SSL" else broker.scram,
        "security.protocol": protocol,
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": name,
        "sasl.password": password,
        "ssl.ca.location": str(broker.truststore),
        "log_level": 0,
    }


@pytest.mark.parametrize("protocol", WITH_PASSWORD)
def test_password(broker, protocol):
    assert AdminClient(login(broker, settings.READER, protocol)).list_topics(timeout=10).brokers


@pytest.mark.parametrize("protocol", WITH_PASSWORD)
def test_wrong_password(broker, protocol):
    with pytest.raises(KafkaException):
        AdminClient(login(broker, ("reader", "wrong"), protocol)).list_topics(timeout=2)
