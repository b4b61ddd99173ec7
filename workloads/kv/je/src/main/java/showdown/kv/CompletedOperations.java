package showdown.kv;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/** The operations that one thread completed. It writes them without a lock; the main thread reads them once an interval. */
final class CompletedOperations {
    private static final int SIGNIFICANT_DIGITS = 3;

    private final SingleWriterRecorder[] times = new SingleWriterRecorder[Store.OPERATIONS.length];
    /** Operations that completed after the stop, which do not count as throughput. */
    private final Histogram[] lateTimes = new Histogram[Store.OPERATIONS.length];
    private final Failures failures = new Failures();
    private final Failures lateFailures = new Failures();

    /** The results of one operation: times, and the number of failures by error message. */
    record OperationResult(Histogram timesUs, Map<String, Long> errors) {
    }

    CompletedOperations() {
        for (int operation = 0; operation < times.length; operation++) {
            times[operation] = new SingleWriterRecorder(SIGNIFICANT_DIGITS);
            lateTimes[operation] = new Histogram(SIGNIFICANT_DIGITS);
        }
    }

    void succeeded(int operation, long tookUs, boolean isLate) {
        if (isLate) {
            lateTimes[operation].recordValue(tookUs);
        } else {
            times[operation].recordValue(tookUs);
        }
    }

    void failed(int operation, String reason, boolean isLate) {
        (isLate ? lateFailures : failures).add(operation, reason);
    }

    /** The results of all threads since the last call, by operation. */
    static OperationResult[] takeInterval(CompletedOperations[] threads) {
        OperationResult[] all = empty();
        for (CompletedOperations thread : threads) {
            for (int operation = 0; operation < all.length; operation++) {
                all[operation].timesUs.add(thread.times[operation].getIntervalHistogram());
            }
            thread.failures.moveTo(all);
        }
        return all;
    }

    /** The results of all threads after the stop. The threads must have ended. */
    static OperationResult[] takeLate(CompletedOperations[] threads) {
        OperationResult[] all = empty();
        for (CompletedOperations thread : threads) {
            for (int operation = 0; operation < all.length; operation++) {
                all[operation].timesUs.add(thread.lateTimes[operation]);
            }
            thread.lateFailures.moveTo(all);
        }
        return all;
    }

    private static OperationResult[] empty() {
        var all = new OperationResult[Store.OPERATIONS.length];
        for (int operation = 0; operation < all.length; operation++) {
            all[operation] = new OperationResult(new Histogram(SIGNIFICANT_DIGITS), new TreeMap<>());
        }
        return all;
    }

    /** Failures are rare, so a lock does not affect the results. */
    private static final class Failures {
        private final Map<Integer, Map<String, Long>> byOperation = new HashMap<>();

        synchronized void add(int operation, String reason) {
            byOperation.computeIfAbsent(operation, any -> new HashMap<>()).merge(reason, 1L, Long::sum);
        }

        synchronized void moveTo(OperationResult[] all) {
            byOperation.forEach((operation, errors) -> errors.forEach((reason, count) ->
                    all[operation].errors.merge(reason, count, Long::sum)));
            byOperation.clear();
        }
    }
}
