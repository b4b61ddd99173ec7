package olio.web;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import net.coobird.thumbnailator.Thumbnails;
import olio.model.Address;

/** What people upload: thumbnails of photographs, the store of files, and where an address is. */
public final class Uploads {
    static final String NO_IMAGE = "image: a JPEG file";
    /** The longest side of a thumbnail. */
    private static final double THUMB = 120;
    private static final double QUALITY = 0.8;
    private static final Pattern PLACE =
        Pattern.compile("<Latitude>([^<]+)</Latitude>\\s*<Longitude>([^<]+)</Longitude>");

    private final Path media;
    private final String geocoder;
    private final HttpClient http = HttpClient.newHttpClient();

    Uploads(String directory, String geocoder) {
        this.media = Path.of(directory, "media");
        this.geocoder = geocoder;
        ImageIO.setUseCache(false);
    }

    /** The thumbnail of a form's photograph, as JPEG; {@code null}, with one more error, if the form does not hold. */
    public byte[] thumbnail(Form form, List<String> errors) {
        if (!errors.isEmpty()) {
            return null;
        }
        try {
            BufferedImage image = ImageIO.read(new ByteArrayInputStream(form.file("image")));
            double scale = Math.min(1, THUMB / Math.max(image.getWidth(), image.getHeight()));
            ByteArrayOutputStream thumbnail = new ByteArrayOutputStream();
            Thumbnails.of(image).forceSize(side(image.getWidth(), scale), side(image.getHeight(), scale))
                .outputFormat("jpg").outputQuality(QUALITY).toOutputStream(thumbnail);
            return thumbnail.toByteArray();
        } catch (IOException | RuntimeException notAnImage) {
            errors.add(NO_IMAGE);
            return null;
        }
    }

    private static int side(int side, double scale) {
        return (int) Math.max(1, Math.round(side * scale));
    }

    /** Writes a file, and returns its place below {@code media}: capitals tell it from loaded ones. */
    public String store(String kind, int id, String name, byte[] bytes) {
        String place = "%s/%03d/%03d/%s".formatted(kind, id % 1_000, id / 1_000_000 % 1_000, name);
        try {
            Files.createDirectories(media.resolve(place).getParent());
            Files.write(media.resolve(place), bytes);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return place;
    }

    /** Where the form's address is. */
    public Place locate(Form form) throws IOException {
        String query = "street=%s&city=%s&state=%s&zip=%s".formatted(
            encoded(form, "street1"), encoded(form, "city"), encoded(form, "state"), encoded(form, "zip"));
        Matcher place = PLACE.matcher(ask(URI.create(geocoder + "/geocode?" + query)));
        if (!place.find()) {
            throw new IOException("the geocoder has no place");
        }
        return new Place(new BigDecimal(place.group(1)), new BigDecimal(place.group(2)));
    }

    private String ask(URI uri) throws IOException {
        try {
            return http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
        } catch (InterruptedException failure) {
            Thread.currentThread().interrupt();
            throw new IOException(failure);
        }
    }

    private static String encoded(Form form, String name) {
        return URLEncoder.encode(form.get(name), UTF_8);
    }

    /** Latitude and longitude. */
    public record Place(BigDecimal latitude, BigDecimal longitude) {
        /** A new address, as the form has it. */
        public Address address(Form form) {
            Address address = new Address();
            address.street1 = form.get("street1");
            address.street2 = form.get("street2");
            address.city = form.get("city");
            address.state = form.get("state");
            address.zip = form.get("zip");
            address.country = form.get("country");
            address.latitude = latitude;
            address.longitude = longitude;
            return address;
        }
    }
}
