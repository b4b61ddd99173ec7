package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import java.time.LocalDateTime;
import org.hibernate.annotations.DynamicUpdate;

/** A social event. */
@Entity
@DynamicUpdate
public class Event {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    public Integer id;
    public String title;
    public String summary;
    public String description;
    @ManyToOne(fetch = FetchType.LAZY)
    public Person submitter;
    @ManyToOne(fetch = FetchType.LAZY)
    public Address address;
    public String telephone;
    public String timezone;
    public LocalDateTime startsAt;
    public LocalDateTime createdAt;
    /** Paths below {@code media}. */
    public String image = "";
    public String thumb = "";
    /** Empty: there is none. */
    public String literature = "";
}
