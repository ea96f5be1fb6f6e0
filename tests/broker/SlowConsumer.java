import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer that takes too long for each record. Arguments: a file of its properties, a topic, ms for a record. */
public class SlowConsumer {
    public static void main(String[] arguments) throws Exception {
        var settings = new Properties();
        try (var file = Files.newBufferedReader(Path.of(arguments[0]))) {
            settings.load(file);
        }
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, bytes, bytes)) {
            consumer.subscribe(List.of(arguments[1]));
            while (true) {
                var records = consumer.poll(Duration.ofMillis(200));
                Thread.sleep(records.count() * Long.parseLong(arguments[2]));
            }
        }
    }
}
