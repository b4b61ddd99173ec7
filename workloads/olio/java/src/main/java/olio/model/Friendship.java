package olio.model;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.ManyToOne;

/** Two persons are friends, or the first has asked the second. */
@Entity
@IdClass(Friendship.Key.class)
public class Friendship {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "from_id")
    public Person sender;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "to_id")
    public Person recipient;
    public boolean accepted;

    /** Both together are the key. */
    public record Key(Integer sender, Integer recipient) {
    }
}
