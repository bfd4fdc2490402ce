import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs small patterns through Flink's CEP library. Arguments: a file of cases, and a file for the matches.
 *
 * A line of cases is, separated by tabs: number of the case, strategy, steps ("A+ B"), predicate ("rising" or "-"),
 * number of the stream, and its events in order of time ("id:time:type:x", separated by spaces). A line of matches is
 * number of the case, number of the stream, and the ids of the events of one match, separated by commas.
 */
public class FlinkCases {

    /** An event as text: case, stream, id, time, type, x. Text needs no serialiser of its own. */
    private static String[] parts(String event) {
        return event.split(":");
    }

    /** Accepts events of a type; "rising": only with a larger x than the event before it in the match. */
    static final class Step extends IterativeCondition<String> {
        private final String type;
        private final boolean rising;
        private final List<String> names;

        Step(String type, boolean rising, List<String> names) {
            this.type = type;
            this.rising = rising;
            this.names = names;
        }

        @Override
        public boolean filter(String event, Context<String> context) throws Exception {
            if (!parts(event)[4].equals(type)) {
                return false;
            }
            if (!rising) {
                return true;
            }
            String last = null;
            for (String name : names) {
                for (String earlier : context.getEventsForPattern(name)) {
                    last = earlier;
                }
            }
            return last == null || Long.parseLong(parts(last)[5]) < Long.parseLong(parts(event)[5]);
        }
    }

    static final class Written implements PatternSelectFunction<String, String> {
        private final String number;
        private final List<String> names;

        Written(String number, List<String> names) {
            this.number = number;
            this.names = names;
        }

        @Override
        public String select(Map<String, List<String>> match) {
            List<String> ids = new ArrayList<>();
            String stream = "";
            for (String name : names) {
                for (String event : match.getOrDefault(name, List.of())) {
                    ids.add(parts(event)[2]);
                    stream = parts(event)[1];
                }
            }
            return number + "\t" + stream + "\t" + String.join(",", ids);
        }
    }

    private static List<String> namesOf(String[] steps) {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < steps.length; i++) {
            names.add("step" + i);
        }
        return names;
    }

    private static Pattern<String, ?> pattern(String strategy, String[] steps, boolean rising) {
        List<String> names = namesOf(steps);
        Pattern<String, String> pattern = null;
        for (int i = 0; i < steps.length; i++) {
            String name = names.get(i);
            List<String> before = new ArrayList<>(names.subList(0, i + 1));
            Step step = new Step(steps[i].replace("+", ""), rising, before);
            if (pattern == null) {
                pattern = Pattern.<String>begin(name);
            } else if (strategy.equals("skip-till-any-match")) {
                pattern = pattern.followedByAny(name);
            } else if (strategy.equals("skip-till-next-match")) {
                pattern = pattern.followedBy(name);
            } else {
                pattern = pattern.next(name);
            }
            pattern = pattern.where(step);
            if (steps[i].endsWith("+")) {
                pattern = pattern.oneOrMore();
                if (strategy.equals("skip-till-any-match")) {
                    pattern = pattern.allowCombinations();
                } else if (strategy.equals("contiguous")) {
                    pattern = pattern.consecutive();
                }
            }
        }
        return pattern;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, List<String>> cases = new TreeMap<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            cases.computeIfAbsent(line.substring(0, line.indexOf('\t')), number -> new ArrayList<>()).add(line);
        }
        try (PrintStream out = new PrintStream(arguments[1])) {
            for (List<String> lines : cases.values()) {
                run(lines, out);
            }
        }
    }

    private static void run(List<String> lines, PrintStream out) throws Exception {
        String[] first = lines.get(0).split("\t");
        String[] steps = first[2].split(" ");
        List<String> events = new ArrayList<>();
        for (String line : lines) {
            String[] fields = line.split("\t");
            for (String event : fields[5].split(" ")) {
                events.add(fields[0] + ":" + fields[4] + ":" + event);
            }
        }
        // One source reads all streams of a case, so that watermarks never make an event late. The sort is stable.
        events.sort((left, right) -> Long.compare(Long.parseLong(parts(left)[3]), Long.parseLong(parts(right)[3])));
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        var stream =
                environment
                        .fromData(events)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<String>forMonotonousTimestamps()
                                        .withTimestampAssigner((event, old) -> Long.parseLong(parts(event)[3])))
                        .keyBy(event -> parts(event)[1]);
        Pattern<String, ?> pattern = pattern(first[1], steps, first[3].equals("rising"));
        var found = CEP.pattern(stream, pattern).inEventTime().select(new Written(first[0], namesOf(steps)));
        try (CloseableIterator<String> matches = found.executeAndCollect()) {
            matches.forEachRemaining(out::println);
        }
    }
}
