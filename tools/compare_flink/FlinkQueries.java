import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs queries of Flink SQL, each on a table of its own. Arguments: a file of cases, and a file for the rows.
 *
 * A line of cases is, separated by tabs: name of the case, a statement that makes a table, and a query. The lines of a
 * result begin with the name of the case, too: first the names of the columns, then the rows.
 */
public class FlinkQueries {

    public static void main(String[] arguments) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        tables.getConfig().set("parallelism.default", "1");
        try (PrintStream out = new PrintStream(arguments[1])) {
            for (String line : Files.readAllLines(Path.of(arguments[0]))) {
                String[] fields = line.split("\t");
                tables.executeSql(fields[1]);
                TableResult result = tables.executeSql(fields[2]);
                out.println(fields[0] + "\t" + String.join("\t", result.getResolvedSchema().getColumnNames()));
                try (CloseableIterator<Row> rows = result.collect()) {
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
