import java.util.Random;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Filters events of six floats by their distance from the origin. Arguments: the threshold, how many events, and a
 * parallelism for each measured job. Events are made before: a job hands on those in memory again and again, by
 * reference. Each job prints its parallelism, the events, those that were kept and its milliseconds; a shorter one
 * comes before it.
 */
public class FlinkFilter {

    public static class Event {
        public long time;
        public float a1, a2, a3, a4, a5, a6;
    }

    /** The events in memory, of a power of two. */
    public static class Preloaded extends RichMapFunction<Long, Event> {
        private static final int SIZE = 1 << 20;
        private transient Event[] events;

        @Override
        public void open(OpenContext context) {
            Random random = new Random(1);
            events = new Event[SIZE];
            for (int i = 0; i < SIZE; i++) {
                Event event = new Event();
                event.time = i;
                event.a1 = random.nextFloat();
                event.a2 = random.nextFloat();
                event.a3 = random.nextFloat();
                event.a4 = random.nextFloat();
                event.a5 = random.nextFloat();
                event.a6 = random.nextFloat();
                events[i] = event;
            }
        }

        @Override
        public Event map(Long number) {
            return events[(int) (number & (SIZE - 1))];
        }
    }

    public static class Far extends RichFilterFunction<Event> {
        private final double threshold;
        private final LongCounter kept = new LongCounter();

        public Far(double threshold) {
            this.threshold = threshold;
        }

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("kept", kept);
        }

        @Override
        public boolean filter(Event event) {
            double square = (double) event.a1 * event.a1 + (double) event.a2 * event.a2
                    + (double) event.a3 * event.a3 + (double) event.a4 * event.a4
                    + (double) event.a5 * event.a5 + (double) event.a6 * event.a6;
            boolean far = Math.sqrt(square) > threshold;
            if (far) {
                kept.add(1);
            }
            return far;
        }
    }

    public static void main(String[] arguments) throws Exception {
        double threshold = Double.parseDouble(arguments[0]);
        long events = Long.parseLong(arguments[1]);
        for (int i = 2; i < arguments.length; i++) {
            int parallelism = Integer.parseInt(arguments[i]);
            run(threshold, events / 10, parallelism);
            JobExecutionResult result = run(threshold, events, parallelism);
            long kept = result.getAccumulatorResult("kept");
            System.out.println("result\t" + parallelism + "\t" + events + "\t" + kept + "\t" + result.getNetRuntime());
        }
    }

    private static JobExecutionResult run(double threshold, long events, int parallelism) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(parallelism);
        environment.getConfig().enableObjectReuse();
        environment.fromSequence(0, events - 1)
                .map(new Preloaded())
                .filter(new Far(threshold))
                .sinkTo(new DiscardingSink<>());
        return environment.execute("filter");
    }
}
