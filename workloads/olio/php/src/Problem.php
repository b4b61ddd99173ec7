<?php
declare(strict_types=1);

namespace Olio;

/** Why a request has no page of the site. */
final class Problem extends \Exception
{
    public static function badRequest(): self
    {
        return new self('Bad request', 400);
    }

    /** Nobody is logged in, or the token is not that of the session. */
    public static function forbidden(): self
    {
        return new self('Not allowed', 403);
    }

    public static function notFound(): self
    {
        return new self('Not found', 404);
    }

    public function status(): int
    {
        return $this->getCode();
    }
}
