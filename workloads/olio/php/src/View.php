<?php
declare(strict_types=1);

namespace Olio;

/** Text in a page. */
function e(string|int $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE);
}

/** Replies: pages made from templates, and redirections. */
final class View
{
    public static function render(string $template, array $values): string
    {
        extract($values);
        ob_start();
        require __DIR__ . "/../templates/$template.php";
        return ob_get_clean();
    }

    /** A page in the frame, which shows the visitor and three of the visitor's next events. */
    public static function page(Site $site, ?Visitor $visitor, string $template, array $values, int $status = 200): void
    {
        http_response_code($status);
        echo self::framed($site, $visitor, self::render($template, $values + ['visitor' => $visitor]), $values['title']);
    }

    public static function framed(Site $site, ?Visitor $visitor, string $main, string $title): string
    {
        $upcoming = $visitor === null ? [] : $site->database()->rows(
            'SELECT ' . Listing::EVENT_LINE . ' FROM attendance a JOIN event e ON e.id = a.event_id
             WHERE a.person_id = ? AND e.starts_at >= ? ORDER BY e.starts_at, e.id LIMIT 3',
            $visitor->id,
            $site->now,
        );
        return self::render('frame', compact('visitor', 'upcoming', 'main', 'title'));
    }

    public static function problem(int $status, string $title): void
    {
        http_response_code($status);
        echo self::render('problem', compact('title'));
    }

    public static function redirect(string $place): void
    {
        http_response_code(303);
        header("Location: $place");
    }
}
