<?php
declare(strict_types=1);

namespace Olio;

/**
 * The home page: the next events and the cloud of tags. Without parameters it comes from the cache, where one request in 300 s makes it
 * anew while the others send the old one.
 */
final class Home
{
    private const WHOLE = 'home:anonymous';
    private const CONTENT = 'home:content';
    private const FRESH = 'home:fresh';
    private const FRESH_S = 300;
    private const LOCK = 'home:lock';
    private const LOCK_S = 5;
    private const CLOUD = 50;

    public function __construct(private readonly Site $site)
    {
    }

    public function show(): void
    {
        $visitor = Visitor::current();
        $filter = $this->filter();
        $isPlain = $filter === ['zip' => '', 'date' => '', 'byCreation' => false, 'page' => 1];
        if ($isPlain) {
            $page = $this->cached($visitor === null ? self::WHOLE : self::CONTENT);
        } else {
            $content = $this->content($filter);
            $page = $visitor === null ? View::framed($this->site, null, $content, 'Events') : $content;
        }
        echo $visitor === null ? $page : View::framed($this->site, $visitor, $page, 'Events');
    }

    /** Fresh, or old while another request makes it, or made here. */
    private function cached(string $key): string
    {
        $cache = $this->site->cache();
        $values = $cache->getMulti([$key, self::FRESH]) ?: [];
        $old = $values[$key] ?? null;
        if ($old !== null && isset($values[self::FRESH])) {
            return $old;
        }
        $isMaker = $cache->add(self::LOCK, '1', self::LOCK_S);
        if ($old !== null && !$isMaker) {
            return $old;
        }
        $content = $this->content($this->filter());
        $whole = View::framed($this->site, null, $content, 'Events');
        if ($isMaker) {
            $cache->set(self::WHOLE, $whole);
            $cache->set(self::CONTENT, $content);
            $cache->set(self::FRESH, '1', self::FRESH_S);
            $cache->delete(self::LOCK);
        }
        return $key === self::WHOLE ? $whole : $content;
    }

    private function content(array $filter): string
    {
        ['zip' => $zip, 'date' => $date, 'byCreation' => $byCreation, 'page' => $page] = $filter;
        $condition = 'FROM event e';
        $values = [];
        if ($zip !== '') {
            $condition .= ' JOIN address a ON a.id = e.address_id AND a.zip = ?';
            $values[] = $zip;
        }
        if ($date === '') {
            $condition .= ' WHERE e.starts_at >= ?';
            $values[] = $this->site->now;
        } else {
            $condition .= ' WHERE e.starts_at BETWEEN ? AND ?';
            array_push($values, "$date 00:00:00", "$date 23:59:59");
        }
        $order = $byCreation ? 'e.created_at DESC, e.id DESC' : 'e.starts_at, e.id';
        $database = $this->site->database();
        $events = $database->rows(
            'SELECT ' . Listing::EVENT_LINE . " $condition ORDER BY $order LIMIT ? OFFSET ?",
            ...$values,
            ...[Listing::PAGE, Listing::offset($page)],
        );
        $count = (int) $database->value("SELECT COUNT(*) $condition", ...$values);
        $base = '/?' . ($zip !== '' ? "zip=$zip&" : '') . ($byCreation ? 'order=created&' : '') . ($date !== '' ? "date=$date&" : '');
        $links = Listing::links($base, $page, $count);
        return View::render('home', compact('filter', 'events', 'links') + ['cloud' => $this->cloud()]);
    }

    /** The most used tags by name, each with a size from 1 to 5. */
    private function cloud(): array
    {
        $tags = $this->site->database()->rows('SELECT name, refcount FROM tag ORDER BY refcount DESC, name LIMIT ?', self::CLOUD);
        if ($tags === []) {
            return [];
        }
        $most = (int) $tags[0]->refcount;
        $least = (int) end($tags)->refcount;
        usort($tags, static fn (object $a, object $b): int => strcmp($a->name, $b->name));
        foreach ($tags as $tag) {
            $tag->size = 1 + ($most > $least ? intdiv(4 * ($tag->refcount - $least), $most - $least) : 0);
        }
        return $tags;
    }

    /** What the list is restricted to. A parameter that is malformed is not there. */
    private function filter(): array
    {
        $text = static fn (string $name): string => is_string($_GET[$name] ?? null) ? $_GET[$name] : '';
        return [
            'zip' => Form::isZip($text('zip')) ? $text('zip') : '',
            'date' => Form::isDate($text('date')) ? $text('date') : '',
            'byCreation' => $text('order') === 'created',
            'page' => Listing::pageNumber(),
        ];
    }
}
