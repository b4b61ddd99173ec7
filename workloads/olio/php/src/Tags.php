<?php
declare(strict_types=1);

namespace Olio;

/** Events that have a tag. */
final class Tags
{
    public function __construct(private readonly Site $site)
    {
    }

    /** A search changes nothing, so it has no token. */
    public function search(): void
    {
        $this->list(mb_strtolower(Form::text('tag')), 1);
    }

    public function show(string $tag): void
    {
        $this->list($tag, Listing::pageNumber());
    }

    /** A word that can be no tag is one that no event has. */
    private function list(string $tag, int $page): void
    {
        $visitor = Visitor::current();
        $database = $this->site->database();
        $found = Form::isTag($tag) ? $database->row('SELECT id, refcount FROM tag WHERE name = ?', $tag) : null;
        $refcount = (int) ($found->refcount ?? 0);
        $events = $refcount === 0 ? [] : $database->rows(
            'SELECT ' . Listing::EVENT_LINE . ' FROM event_tag et JOIN event e ON e.id = et.event_id WHERE et.tag_id = ?
             ORDER BY e.starts_at, e.id LIMIT ? OFFSET ?',
            $found->id,
            Listing::PAGE,
            Listing::offset($page),
        );
        $links = Listing::links("/tags/$tag?", $page, $refcount);
        View::page($this->site, $visitor, 'tag', compact('tag', 'refcount', 'events', 'links') + ['title' => $tag]);
    }
}
