package olio.routes;

import java.io.IOException;
import java.util.List;
import olio.model.Address;
import olio.model.Database;
import olio.model.Person;
import olio.web.Checks;
import olio.web.Form;
import olio.web.Secrets;
import olio.web.Site;
import olio.web.Uploads;

/** Somebody who registers by a form. */
final class NewPerson {
    private final Form form;
    private final Site site;
    private final List<String> errors;
    private final byte[] thumbnail;

    NewPerson(Form form, Site site) {
        this.form = form;
        this.site = site;
        errors = Checks.ofPerson(form);
        thumbnail = site.uploads().thumbnail(form, errors);
    }

    List<String> errors() {
        return errors;
    }

    /** Whether the person is added: the form holds, and nobody has the name. */
    boolean add() throws IOException {
        if (!errors.isEmpty()) {
            return false;
        }
        Uploads.Place place = site.uploads().locate(form);
        try {
            site.database().inTransaction(entities -> {
                Address address = place.address(form);
                entities.persist(address);
                Person person = person(address);
                entities.persist(person);
                person.image = site.uploads().store("persons", person.id, "P" + person.id + ".jpg", form.file("image"));
                person.thumb = site.uploads().store("personThumbs", person.id, "P" + person.id + "t.jpg", thumbnail);
                return null;
            });
            return true;
        } catch (RuntimeException failure) {
            if (!Database.isError(failure, Database.DUPLICATE_KEY)) {
                throw failure;
            }
            errors.add("username: somebody has it");
            return false;
        }
    }

    private Person person(Address address) {
        Person person = new Person();
        person.username = form.get("username");
        person.salt = Secrets.random(8);
        person.password = Secrets.hash(person.salt, form.get("password"));
        person.firstName = form.get("first_name");
        person.lastName = form.get("last_name");
        person.email = form.get("email");
        person.telephone = form.get("telephone");
        person.timezone = form.get("timezone");
        person.summary = form.get("summary");
        person.address = address;
        return person;
    }
}
