package showdown.kv;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** The runner's side of the protocol, version 1: commands from standard input, JSON lines to standard output. */
final class Protocol {
    /** Marks the end of standard input. Compared by identity, so that no line is equal to it. */
    private static final String END = new String("end");

    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    Protocol() {
        var reader = new Thread(this::readAll, "commands");
        reader.setDaemon(true);
        reader.start();
    }

    private void readAll() {
        try (var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            String line;
            while ((line = input.readLine()) != null) {
                lines.add(line);
            }
        } catch (IOException error) {
            // Treated as the end of standard input.
        }
        lines.add(END);
    }

    /** The next line; null at the end of standard input. */
    String read() throws InterruptedException {
        String line = lines.take();
        return isEnd(line) ? null : line;
    }

    /** Whether this marks the end of standard input. */
    boolean isEnd(String line) {
        return line == END;
    }

    /** The next line; null if none arrives within the timeout. */
    String poll(long timeoutNs) throws InterruptedException {
        return lines.poll(Math.max(0, timeoutNs), TimeUnit.NANOSECONDS);
    }

    void printReady() {
        print("{\"runner\": 1}");
    }

    void printInterval(long index, CompletedOperations.OperationResult[] operations) {
        print("{\"interval\": " + index + ", \"operations\": " + json(operations) + "}");
    }

    void printStopped(double seconds, CompletedOperations.OperationResult[] operations) {
        print("{\"stopped\": " + seconds + ", \"operations\": " + json(operations) + "}");
    }

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String json(CompletedOperations.OperationResult[] operations) {
        var all = new StringJoiner(", ", "{", "}");
        for (int at = 0; at < operations.length; at++) {
            var one = new StringJoiner(", ", "{", "}");
            if (operations[at].timesUs().getTotalCount() > 0) {
                one.add("\"histogram\": \"" + encode(operations[at].timesUs()) + "\"");
            }
            if (!operations[at].errors().isEmpty()) {
                one.add("\"errors\": " + json(operations[at].errors()));
            }
            if (one.length() > "{}".length()) {
                all.add(quote(Store.OPERATIONS[at]) + ": " + one);
            }
        }
        return all.toString();
    }

    private static String json(Map<String, Long> counts) {
        var all = new StringJoiner(", ", "{", "}");
        counts.forEach((message, count) -> all.add(quote(message) + ": " + count));
        return all.toString();
    }

    /** Replaces control characters with blanks and escapes quotes and backslashes. */
    private static String quote(String text) {
        String plain = text.replaceAll("\\p{Cntrl}", " ");
        return "\"" + plain.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private static String encode(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
