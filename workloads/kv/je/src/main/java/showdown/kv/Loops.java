package showdown.kv;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** Closed loops of threads: who begins what when, and who tells of it. */
final class Loops {
    private final Store store;
    private final int threads;
    private volatile boolean isOver;

    Loops(Store store, int threads) {
        this.store = store;
        this.threads = threads;
    }

    /** Tries each operation once, says that it is ready, and runs whenever it is told to, until nobody is there. */
    void serve() throws Exception {
        for (int operation = 0; operation < Store.OPERATIONS.length; operation++) {
            store.operate(operation, new SplittableRandom(0));
        }
        var protocol = new Protocol();
        protocol.sayReady();
        String line;
        while ((line = protocol.read()) != null) {
            String[] words = line.trim().split("\\s+");
            if (words[0].equals("start") && words.length > 3) {
                run(words, protocol);
            } else if (!words[0].equals("stop")) {
                throw new IOException("\"" + line + "\" is no word to a runner: see docs/BYOD.md");
            }
        }
    }

    private void run(String[] words, Protocol protocol) throws Exception {
        long intervalNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(words[1]));
        long seed = Long.parseUnsignedLong(words[2]);
        double[] upTo = mix(words);
        isOver = false;
        var tallies = new Tally[threads];
        var workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int at = 0; at < threads; at++) {
            Tally tally = tallies[at] = new Tally();
            var random = new SplittableRandom(seed + at);
            workers[at] = new Thread(() -> work(tally, upTo, random), "loop-" + at);
            workers[at].start();
        }
        long index = 0;
        String told = null;
        while (told == null) {
            told = protocol.poll(begin + (index + 1) * intervalNs - System.nanoTime());
            long reached = (System.nanoTime() - begin) / intervalNs;
            if (told == null && reached > index) {
                protocol.sayInterval(reached - 1, Tally.counted(tallies));
                index = reached;
            }
        }
        isOver = true;
        long after = System.nanoTime() - begin;
        for (Thread worker : workers) {
            worker.join();
        }
        if (!told.trim().equals("stop")) {
            throw new IOException(protocol.isEnd(told)
                    ? "standard input ended in the middle of a run"
                    : "told \"" + told + "\" in the middle of a run");
        }
        protocol.sayInterval(Math.max(index, after / intervalNs), Tally.counted(tallies));
        protocol.sayStopped(after / 1e9, Tally.late(tallies));
    }

    private void work(Tally tally, double[] upTo, SplittableRandom random) {
        // The end of one operation is where the next one begins: one look at the clock for each.
        long sent = System.nanoTime();
        boolean isLate = isOver;
        while (!isLate) {
            int operation = draw(upTo, random);
            String failure = null;
            try {
                store.operate(operation, random);
            } catch (Exception error) {
                failure = Store.reason(error);
            }
            long ended = System.nanoTime();
            isLate = isOver;
            if (failure == null) {
                tally.succeeded(operation, TimeUnit.NANOSECONDS.toMicros(ended - sent), isLate);
            } else {
                tally.failed(operation, failure, isLate);
            }
            sent = ended;
        }
    }

    /** What the weights of operations up to each come to, of 1. */
    private static double[] mix(String[] words) throws IOException {
        Map<String, Double> weights = new HashMap<>();
        for (int at = 3; at < words.length; at++) {
            String[] pair = words[at].split("=", 2);
            weights.put(pair[0], Double.parseDouble(pair[1]));
        }
        double[] upTo = new double[Store.OPERATIONS.length];
        double sum = 0;
        for (int operation = 0; operation < upTo.length; operation++) {
            Double weight = weights.remove(Store.OPERATIONS[operation]);
            sum += weight == null ? 0 : weight;
            upTo[operation] = sum;
        }
        if (!weights.isEmpty()) {
            String known = String.join(", ", Store.OPERATIONS);
            String unknown = weights.keySet().iterator().next();
            throw new IOException("there is no operation \"" + unknown + "\": there are " + known);
        }
        for (int operation = 0; operation < upTo.length; operation++) {
            upTo[operation] /= sum;
        }
        return upTo;
    }

    private static int draw(double[] upTo, SplittableRandom random) {
        double drawn = random.nextDouble();
        int operation = 0;
        while (drawn >= upTo[operation]) {
            operation++;
        }
        return operation;
    }
}
