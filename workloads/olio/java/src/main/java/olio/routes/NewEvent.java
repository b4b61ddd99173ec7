package olio.routes;

import jakarta.persistence.EntityManager;
import java.io.IOException;
import java.time.LocalDate;
import java.util.List;
import olio.model.Address;
import olio.model.Attendance;
import olio.model.Event;
import olio.model.Person;
import olio.web.Checks;
import olio.web.Form;
import olio.web.Site;
import olio.web.Uploads;

/** An event that somebody adds by a form. */
final class NewEvent {
    private final Form form;
    private final Site site;
    private final List<String> errors;
    private final byte[] thumbnail;

    NewEvent(Form form, Site site) {
        this.form = form;
        this.site = site;
        errors = Checks.ofEvent(form);
        thumbnail = site.uploads().thumbnail(form, errors);
    }

    boolean holds() {
        return errors.isEmpty();
    }

    List<String> errors() {
        return errors;
    }

    /** Returns the event's number. */
    int add(int submitter) throws IOException {
        Uploads.Place place = site.uploads().locate(form);
        return site.database().inTransaction(entities -> {
            Address address = place.address(form);
            entities.persist(address);
            Event event = event(entities.getReference(Person.class, submitter), address);
            entities.persist(event);
            // In the order of the alphabet, so that few transactions wait for each other.
            for (String tag : form.tags()) {
                relate(entities, tag, event.id);
            }
            Attendance attendance = new Attendance();
            attendance.person = event.submitter;
            attendance.event = event;
            entities.persist(attendance);
            storeFiles(event);
            return event.id;
        });
    }

    private Event event(Person submitter, Address address) {
        Event event = new Event();
        event.title = form.get("title");
        event.summary = form.get("summary");
        event.description = form.get("description");
        event.submitter = submitter;
        event.address = address;
        event.telephone = form.get("telephone");
        event.timezone = form.get("timezone");
        event.startsAt = LocalDate.parse(form.get("date"))
            .atTime(Integer.parseInt(form.get("hour")), Integer.parseInt(form.get("minute")));
        event.createdAt = site.now();
        return event;
    }

    /** Counts the tag, and makes it if it is new. */
    private static void relate(EntityManager entities, String tag, int event) {
        entities.createNativeQuery("insert into tag (name, refcount) values (?, 1) on duplicate key update refcount = refcount + 1")
            .setParameter(1, tag).executeUpdate();
        entities.createNativeQuery("insert into event_tag (tag_id, event_id) select id, ? from tag where name = ?")
            .setParameter(1, event).setParameter(2, tag).executeUpdate();
    }

    /** Files are there before the event is: a page never names one that is not. */
    private void storeFiles(Event event) {
        Uploads uploads = site.uploads();
        event.image = uploads.store("events", event.id, "E" + event.id + ".jpg", form.file("image"));
        event.thumb = uploads.store("eventThumbs", event.id, "E" + event.id + "t.jpg", thumbnail);
        if (form.file("literature").length > 0) {
            event.literature = uploads.store("eventLits", event.id, "E" + event.id + "l.pdf", form.file("literature"));
        }
    }
}
