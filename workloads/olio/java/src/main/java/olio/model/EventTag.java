package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.ManyToOne;

/** An event has a tag. */
@Entity
@IdClass(EventTag.Key.class)
public class EventTag {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    public Tag tag;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    public Event event;

    /** Both together are the key. */
    public record Key(Integer tag, Integer event) {
    }
}
