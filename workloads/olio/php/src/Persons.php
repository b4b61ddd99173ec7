<?php
declare(strict_types=1);

namespace Olio;

/** The page of a person: friends, events, and for the person alone the requests. */
final class Persons
{
    public function __construct(private readonly Site $site)
    {
    }

    public function show(string $name): void
    {
        $visitor = Visitor::current();
        $database = $this->site->database();
        $person = $database->row(
            'SELECT p.id, p.username, p.first_name, p.last_name, p.email, p.telephone, p.timezone, p.summary, p.image, p.thumb,
                    a.city, a.state, a.country
             FROM person p JOIN address a ON a.id = p.address_id WHERE p.username = ?',
            $name,
        ) ?? throw Problem::notFound();
        $friends = $database->rows(
            'SELECT p.username, p.thumb FROM person p JOIN (
                SELECT to_id AS id FROM friendship WHERE from_id = ? AND accepted = 1
                UNION SELECT from_id FROM friendship WHERE to_id = ? AND accepted = 1) f ON f.id = p.id
             ORDER BY p.id LIMIT 6',
            $person->id,
            $person->id,
        );
        $isOwner = $visitor?->id === $person->id;
        $incoming = $isOwner ? $this->requests($person->id, 'from_id', 'to_id') : [];
        $outgoing = $isOwner ? $this->requests($person->id, 'to_id', 'from_id') : [];
        $relation = $visitor !== null && !$isOwner ? $this->relation($visitor->id, $person->id) : 'stranger';
        $events = $database->rows(
            'SELECT ' . Listing::EVENT_LINE . ' FROM event e WHERE e.submitter_id = ? AND e.starts_at >= ?
             ORDER BY e.starts_at, e.id LIMIT 10',
            $person->id,
            $this->site->now,
        );
        $values = compact('person', 'friends', 'isOwner', 'incoming', 'outgoing', 'relation', 'events');
        View::page($this->site, $visitor, 'person', $values + ['title' => $person->username]);
    }

    /** The other sides of the requests that wait; `$side` is the column of the person. */
    private function requests(int $person, string $other, string $side): array
    {
        return $this->site->database()->column(
            "SELECT p.username FROM friendship f JOIN person p ON p.id = f.$other WHERE f.$side = ? AND f.accepted = 0
             ORDER BY p.id LIMIT 50",
            $person,
        );
    }

    /** What the visitor is to the person. */
    private function relation(int $visitor, int $person): string
    {
        $row = $this->site->database()->row(
            'SELECT from_id, accepted FROM friendship WHERE (from_id = ? AND to_id = ?) OR (from_id = ? AND to_id = ?)
             ORDER BY accepted DESC, from_id LIMIT 1',
            $visitor,
            $person,
            $person,
            $visitor,
        );
        return match (true) {
            $row === null => 'stranger',
            (bool) $row->accepted => 'friend',
            $row->from_id === $visitor => 'asked',
            default => 'asks',
        };
    }
}
