<?php
declare(strict_types=1);

namespace Olio;

/** Visitors log in and out. */
final class Login
{
    public function __construct(private readonly Site $site)
    {
    }

    public function logIn(): void
    {
        $name = Form::text('username');
        $person = $this->site->database()->row('SELECT id, salt, password FROM person WHERE username = ?', $name);
        if ($person === null || !hash_equals($person->password, self::hash($person->salt, Form::text('password')))) {
            View::page($this->site, null, 'login', ['title' => 'Log in'], 401);
            return;
        }
        Visitor::logIn($person->id, $name, self::countRequests($this->site, $person->id));
        View::redirect('/');
    }

    public function logOut(): void
    {
        Visitor::changing(changesSession: true);
        Visitor::logOut();
        View::redirect('/');
    }

    public static function hash(string $salt, string $password): string
    {
        return hash('sha256', $salt . $password);
    }

    /** Requests for friendship that wait for the person's answer. */
    public static function countRequests(Site $site, int $person): int
    {
        return (int) $site->database()->value('SELECT COUNT(*) FROM friendship WHERE to_id = ? AND accepted = 0', $person);
    }
}
