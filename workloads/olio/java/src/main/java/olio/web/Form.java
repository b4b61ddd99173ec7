package olio.web;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.http.Part;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** What a form with files has sent: fields without blanks around them, and bytes of files. */
public record Form(Map<String, String> fields, Map<String, byte[]> files) {
    static Form of(Collection<Part> parts) throws IOException {
        Form form = new Form(new HashMap<>(), new HashMap<>());
        for (Part part : parts) {
            byte[] bytes = part.getInputStream().readAllBytes();
            if (part.getSubmittedFileName() == null) {
                form.fields.put(part.getName(), new String(bytes, UTF_8).strip());
            } else {
                form.files.put(part.getName(), bytes);
            }
        }
        return form;
    }

    /** Empty if it was not sent. */
    public String get(String name) {
        return fields.getOrDefault(name, "");
    }

    /** Empty if none was sent. */
    public byte[] file(String name) {
        return files.getOrDefault(name, new byte[0]);
    }

    /** In the order of the alphabet, each once. */
    public SortedSet<String> tags() {
        SortedSet<String> tags = new TreeSet<>(Arrays.asList(get("tags").toLowerCase().split("\\s+")));
        tags.remove("");
        return tags;
    }
}
