import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs MATCH_RECOGNIZE of Flink SQL. Arguments: a file of cases, and a file for the matches.
 *
 * A line of cases is, separated by tabs: number of the case, a CSV file of events in order of time (part, id, t, kind,
 * x), and a query on the table "events" whose first column is the part. A line of matches is the number of the case,
 * and the columns of one match.
 */
public class FlinkMatches {

    public static void main(String[] arguments) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        tables.getConfig().set("parallelism.default", "1");
        try (PrintStream out = new PrintStream(arguments[1])) {
            for (String line : Files.readAllLines(Path.of(arguments[0]))) {
                String[] fields = line.split("\t");
                tables.executeSql("DROP TEMPORARY TABLE IF EXISTS events");
                // A watermark behind the events of all streams never makes one late.
                tables.executeSql(
                        "CREATE TEMPORARY TABLE events (part INT, id INT, t BIGINT, kind STRING, x INT, "
                                + "ts AS TO_TIMESTAMP_LTZ(t * 1000, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
                                + "WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '"
                                + fields[1]
                                + "')");
                try (CloseableIterator<Row> rows = tables.executeSql(fields[2]).collect()) {
                    while (rows.hasNext()) {
                        Row row = rows.next();
                        List<String> written = new ArrayList<>();
                        for (int i = 0; i < row.getArity(); i++) {
                            written.add(String.valueOf(row.getField(i)));
                        }
                        out.println(fields[0] + "\t" + String.join("\t", written));
                    }
                }
            }
        }
    }
}
