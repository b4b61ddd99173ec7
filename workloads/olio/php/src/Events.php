<?php
declare(strict_types=1);

namespace Olio;

/** The page of an event, and who attends it. */
final class Events
{
    private const NAMES = 20;

    public function __construct(private readonly Site $site)
    {
    }

    public function show(string $id): void
    {
        $visitor = Visitor::current();
        $database = $this->site->database();
        $event = $database->row(
            "SELECT e.id, e.title, e.summary, e.description, e.submitter_id, p.username AS submitter, e.telephone, e.timezone,
                    DATE_FORMAT(e.starts_at, '%Y-%m-%d %H:%i') AS starts, e.image, e.thumb, e.literature,
                    a.street1, a.street2, a.city, a.state, a.zip, a.country, a.latitude, a.longitude
             FROM event e JOIN address a ON a.id = e.address_id JOIN person p ON p.id = e.submitter_id WHERE e.id = ?",
            (int) $id,
        ) ?? throw Problem::notFound();
        $tags = $database->column(
            'SELECT t.name FROM event_tag et JOIN tag t ON t.id = et.tag_id WHERE et.event_id = ? ORDER BY t.name',
            (int) $id,
        );
        $attendees = $this->attendees((int) $id, $visitor);
        $comments = $database->rows(
            "SELECT p.username AS author, c.body, c.rating, DATE_FORMAT(c.created_at, '%Y-%m-%d %H:%i') AS written
             FROM comment c JOIN person p ON p.id = c.person_id WHERE c.event_id = ? ORDER BY c.id",
            (int) $id,
        );
        View::page($this->site, $visitor, 'event', compact('event', 'tags', 'attendees', 'comments') + ['title' => $event->title]);
    }

    public function attend(string $id): void
    {
        $this->change((int) $id, 'INSERT IGNORE INTO attendance (person_id, event_id) SELECT ?, id FROM event WHERE id = ?');
    }

    public function unattend(string $id): void
    {
        $this->change((int) $id, 'DELETE FROM attendance WHERE person_id = ? AND event_id = ?');
    }

    private function change(int $id, string $statement): void
    {
        $visitor = Visitor::changing();
        $attendees = $this->site->database()->transaction(function () use ($id, $statement, $visitor): array {
            $this->site->database()->execute($statement, $visitor->id, $id);
            return $this->attendees($id, $visitor);
        });
        echo View::render('attendees', compact('attendees', 'visitor'));
    }

    /** How many there are, whether the visitor is one of them, and the first names, the visitor's before all others. */
    private function attendees(int $event, ?Visitor $visitor): array
    {
        $person = $visitor?->id ?? 0;
        $counted = $this->site->database()->row(
            'SELECT COUNT(*) AS count, EXISTS(SELECT 1 FROM attendance WHERE event_id = ? AND person_id = ?) AS attends
             FROM attendance WHERE event_id = ?',
            $event,
            $person,
            $event,
        );
        $names = $this->site->database()->column(
            'SELECT p.username FROM attendance a JOIN person p ON p.id = a.person_id WHERE a.event_id = ?
             ORDER BY a.person_id = ? DESC, a.person_id LIMIT ?',
            $event,
            $person,
            self::NAMES,
        );
        return ['event' => $event, 'count' => $counted->count, 'attends' => (bool) $counted->attends, 'names' => $names];
    }
}
