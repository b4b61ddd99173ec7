package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import java.math.BigDecimal;

/** Where a person lives, or an event takes place. */
@Entity
public class Address {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    public Integer id;
    public String street1;
    public String street2;
    public String city;
    public String state;
    public String zip;
    public String country;
    public BigDecimal latitude;
    public BigDecimal longitude;
}
