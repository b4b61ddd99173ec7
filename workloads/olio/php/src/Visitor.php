<?php
declare(strict_types=1);

namespace Olio;

/** Who is logged in: the session, and the token that each change must bring. */
final class Visitor
{
    private const OPTIONS = [
        'name' => 'olio',
        'sid_length' => 32,
        'sid_bits_per_character' => 4,
        'cookie_httponly' => true,
        'cookie_samesite' => 'Lax',
        'cache_limiter' => '',
    ];

    private function __construct(
        public readonly int $id,
        public readonly string $name,
        public readonly string $token,
        public readonly int $requests,
        public readonly int $rating,
    ) {
    }

    /** The visitor of a request. Only a request that changes the session keeps it open. */
    public static function current(bool $changesSession = false): ?self
    {
        if (!preg_match('/^[0-9a-f]{32}$/', $_COOKIE['olio'] ?? '')) {
            return null;
        }
        @session_start(self::OPTIONS + ['read_and_close' => !$changesSession]);
        if (!isset($_SESSION['id'])) {
            return null;
        }
        return new self($_SESSION['id'], $_SESSION['name'], $_SESSION['token'], $_SESSION['requests'], $_SESSION['rating']);
    }

    /** The visitor of a change, whose form has the session's token. */
    public static function changing(bool $changesSession = false): self
    {
        $visitor = self::current($changesSession) ?? throw Problem::forbidden();
        if (!hash_equals($visitor->token, Form::text('token'))) {
            throw Problem::forbidden();
        }
        return $visitor;
    }

    public static function logIn(int $id, string $name, int $requests): void
    {
        session_id(bin2hex(random_bytes(16)));
        session_start(self::OPTIONS);
        $_SESSION = ['id' => $id, 'name' => $name, 'token' => bin2hex(random_bytes(16)), 'requests' => $requests, 'rating' => 0];
        session_write_close();
    }

    public static function logOut(): void
    {
        session_destroy();
        setcookie('olio', '', ['expires' => 1, 'path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
    }

    /** Puts a value into the session, which `current` has left open. */
    public static function keep(string $name, int $value): void
    {
        $_SESSION[$name] = $value;
        session_write_close();
    }
}
