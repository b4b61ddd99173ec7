<?php
declare(strict_types=1);

namespace Olio;

/** Lists of events, ten a page, and the links to their pages. */
final class Listing
{
    public const PAGE = 10;
    public const EVENT_LINE = "e.id, e.title, e.summary, DATE_FORMAT(e.starts_at, '%Y-%m-%d %H:%i') AS starts, e.thumb";
    private const MOST_LINKS = 10;
    private const MOST_PAGE = 1000;

    /** The page that the query asks for, from 1. */
    public static function pageNumber(): int
    {
        $number = filter_var($_GET['page'] ?? '1', FILTER_VALIDATE_INT);
        return $number >= 1 && $number <= self::MOST_PAGE ? $number : 1;
    }

    public static function offset(int $page): int
    {
        return ($page - 1) * self::PAGE;
    }

    /** Links as pairs of a label and an address; that of the current page has none. `$base` ends where `page=` follows. */
    public static function links(string $base, int $page, int $events): array
    {
        $pages = (int) ceil($events / self::PAGE);
        $links = [];
        if ($page > 1) {
            $links[] = ['Previous', "{$base}page=" . $page - 1];
        }
        for ($number = 1; $number <= min($pages, self::MOST_LINKS); $number++) {
            $links[] = [$number, $number === $page ? null : "{$base}page=$number"];
        }
        if ($page < $pages) {
            $links[] = ['Next', "{$base}page=" . $page + 1];
        }
        return $links;
    }
}
