import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.StreamsAssignmentProtocolVersions;
import org.apache.kafka.streams.state.HostInfo;

/** Prints assignments of Kafka Streams, one JSON object a line, encoded and decoded by Kafka's own class. */
public class AssignmentInfoVectors {
    private static final int RANDOM = 12;
    private static final Random RNG = new Random(848);

    public static void main(String[] args) {
        for (int version = 1; version <= StreamsAssignmentProtocolVersions.LATEST_SUPPORTED_VERSION; version++) {
            print(info(version, List.of(), Map.of(), 0, 0), Long.MAX_VALUE);
            print(info(version, tasks(version, 3), standbys(version, 2), 2, 1), 0L);
            for (int n = 0; n < RANDOM; n++) {
                int errors = RNG.nextInt(5);
                print(info(version, tasks(version, RNG.nextInt(8)), standbys(version, RNG.nextInt(5)), RNG.nextInt(4), errors),
                    RNG.nextBoolean() ? Long.MAX_VALUE : 1_795_600_000_000L + RNG.nextInt(1_000_000_000));
            }
        }
    }

    private static AssignmentInfo info(int version, List<TaskId> active, Map<TaskId, Set<TopicPartition>> standby, int hosts,
                                       int error) {
        return new AssignmentInfo(version, active, standby, hosts(hosts), hosts(hosts), error);
    }

    private static List<TaskId> tasks(int version, int count) {
        Set<TaskId> found = new LinkedHashSet<>();
        String name = version >= StreamsAssignmentProtocolVersions.MIN_NAMED_TOPOLOGY_VERSION && RNG.nextInt(3) == 0
            ? "topology-\u00e9" : null;
        while (found.size() < count) {
            found.add(new TaskId(RNG.nextInt(4), RNG.nextInt(200), name));
        }
        return new ArrayList<>(found);
    }

    private static Map<TaskId, Set<TopicPartition>> standbys(int version, int count) {
        Map<TaskId, Set<TopicPartition>> found = new LinkedHashMap<>();
        for (TaskId task : tasks(version, count)) {
            found.put(task, partitions("store-changelog", RNG.nextInt(3)));
        }
        return found;
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts(int count) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        for (int host = 0; host < count; host++) {
            found.put(new HostInfo("host-" + host + ".example", 8080 + host), partitions("orders", RNG.nextInt(5)));
        }
        return found;
    }

    private static Set<TopicPartition> partitions(String topic, int count) {
        Set<TopicPartition> found = new LinkedHashSet<>();
        for (int n = 0; n < count; n++) {
            found.add(new TopicPartition(topic + "-" + RNG.nextInt(3), RNG.nextInt(100)));
        }
        return found;
    }

    private static void print(AssignmentInfo info, long next) {
        info.setNextRebalanceTime(next);
        ByteBuffer bytes = info.encode();
        byte[] payload = new byte[bytes.remaining()];
        bytes.get(payload);
        AssignmentInfo read = AssignmentInfo.decode(ByteBuffer.wrap(payload));
        System.out.printf("{\"version\": %d, \"error\": %d, \"next\": %d, \"active\": %s, \"standby\": %s, \"payload\": \"%s\"}%n",
            read.version(), read.errCode(), read.nextRebalanceMs(), named(read.activeTasks()),
            named(read.standbyTasks().keySet()), HexFormat.of().formatHex(payload));
    }

    private static String named(Iterable<TaskId> tasks) {
        Set<TaskId> sorted = new TreeSet<>();
        tasks.forEach(sorted::add);
        return sorted.stream().map(task -> "\"" + task + "\"").collect(Collectors.joining(", ", "[", "]"));
    }
}
