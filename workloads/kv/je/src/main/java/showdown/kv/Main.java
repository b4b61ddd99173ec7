package showdown.kv;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;

/**
 * A runner of Berkeley DB Java Edition: loads the store, and works it with threads whenever it is told to.
 * docs/BYOD.md has the protocol; the other stores' runner is crates/runners, which this does the same as.
 */
public final class Main {
    /** Our directory below the one that is given: what is in it is ours to remove. */
    private static final String HOME = "showdown-kv";

    private Main() {
    }

    public static void main(String[] words) {
        try {
            run(options(words));
        } catch (Exception error) {
            System.err.println(Store.reason(error));
            System.exit(1);
        }
        // The thread that reads words may still wait for one.
        System.exit(0);
    }

    private static void run(Map<String, String> options) throws Exception {
        int threads = Integer.parseInt(options.get("threads"));
        long records = Long.parseLong(options.get("records"));
        Path home = Path.of(options.get("directory"), HOME);
        // One who was killed has left his.
        remove(home);
        Files.createDirectories(home);
        try (Store store = new Store(home.toFile(), records,
                Integer.parseInt(options.get("value-bytes")), Long.parseLong(options.get("hot")),
                options.get("durability").equals("commit"), options.get("shared-latches").equals("true"))) {
            try {
                store.load();
            } catch (Exception error) {
                throw new IOException("cannot store " + records + " records: " + Store.reason(error), error);
            }
            new Loops(store, threads).serve();
        } finally {
            remove(home);
        }
    }

    private static Map<String, String> options(String[] words) {
        Map<String, String> options = new HashMap<>();
        for (String word : words) {
            String[] pair = word.split("=", 2);
            options.put(pair[0].substring("--".length()), pair[1]);
        }
        return options;
    }

    private static void remove(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (var paths = Files.walk(directory)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> {
                try {
                    Files.deleteIfExists(path);
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            });
        }
    }
}
