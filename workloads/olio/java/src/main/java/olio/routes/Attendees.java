package olio.routes;

import jakarta.persistence.EntityManager;
import java.util.List;

/**
 * Who attends an event.
 *
 * @param attends whether the visitor is one of them
 * @param names the first ones; the visitor before all others
 */
public record Attendees(int event, long count, boolean attends, List<String> names) {
    /** Names that a page shows. */
    private static final int NAMES = 20;

    static Attendees of(EntityManager entities, int event, int visitor) {
        String numbers = "select count(*), count(case when a.person.id = :visitor then 1 end)"
            + " from Attendance a where a.event.id = :event";
        Object[] counted = entities.createQuery(numbers, Object[].class).setParameter("event", event)
            .setParameter("visitor", visitor).getSingleResult();
        String names = "select p.username from Attendance a join a.person p where a.event.id = :event"
            + " order by case when a.person.id = :visitor then 0 else 1 end, a.person.id";
        List<String> first = entities.createQuery(names, String.class).setParameter("event", event)
            .setParameter("visitor", visitor).setMaxResults(NAMES).getResultList();
        return new Attendees(event, (long) counted[0], (long) counted[1] == 1, first);
    }
}
