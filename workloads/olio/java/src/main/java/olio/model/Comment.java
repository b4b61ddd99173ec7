package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import java.time.LocalDateTime;

/** What a person says about an event. */
@Entity
public class Comment {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    public Integer id;
    @ManyToOne(fetch = FetchType.LAZY)
    public Person person;
    @ManyToOne(fetch = FetchType.LAZY)
    public Event event;
    public String body;
    /** 0: none. */
    public int rating;
    public LocalDateTime createdAt;
}
