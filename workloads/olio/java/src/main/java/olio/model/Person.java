package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import org.hibernate.annotations.DynamicUpdate;

/** Somebody who has registered. */
@Entity
@DynamicUpdate
public class Person {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    public Integer id;
    public String username;
    public String salt;
    public String password;
    public String firstName;
    public String lastName;
    public String email;
    public String telephone;
    public String timezone;
    public String summary;
    @ManyToOne(fetch = FetchType.LAZY)
    public Address address;
    /** Paths below {@code media}. */
    public String image = "";
    public String thumb = "";
}
