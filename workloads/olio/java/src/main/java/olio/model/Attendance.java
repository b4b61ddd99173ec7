package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.ManyToOne;

/** A person attends an event. */
@Entity
@IdClass(Attendance.Key.class)
public class Attendance {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    public Person person;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    public Event event;

    /** Both together are the key. */
    public record Key(Integer person, Integer event) {
    }
}
