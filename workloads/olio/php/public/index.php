<?php
// Olio in PHP: the one file that the web server calls. Its routes are those of contract.md; each names a method in src/.
declare(strict_types=1);

namespace Olio;

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/../src/' . substr($class, strlen('Olio\\')) . '.php';
});

const ROUTES = [
    ['GET', '#^/$#', [Home::class, 'show']],
    ['POST', '#^/login$#', [Login::class, 'logIn']],
    ['POST', '#^/logout$#', [Login::class, 'logOut']],
    ['GET', '#^/events/new$#', [EventChanges::class, 'form']],
    ['POST', '#^/events$#', [EventChanges::class, 'add']],
    ['GET', '#^/events/(\d{1,9})$#', [Events::class, 'show']],
    ['POST', '#^/events/(\d{1,9})/attend$#', [Events::class, 'attend']],
    ['POST', '#^/events/(\d{1,9})/unattend$#', [Events::class, 'unattend']],
    ['POST', '#^/events/(\d{1,9})/comments$#', [EventChanges::class, 'comment']],
    ['POST', '#^/events/(\d{1,9})/rating$#', [EventChanges::class, 'rate']],
    ['POST', '#^/events/(\d{1,9})/delete$#', [EventChanges::class, 'delete']],
    ['POST', '#^/tags$#', [Tags::class, 'search']],
    ['GET', '#^/tags/([^/]+)$#', [Tags::class, 'show']],
    ['GET', '#^/persons/new$#', [PersonChanges::class, 'form']],
    ['POST', '#^/persons$#', [PersonChanges::class, 'add']],
    ['GET', '#^/persons/([^/]+)$#', [Persons::class, 'show']],
    ['POST', '#^/friends$#', [PersonChanges::class, 'friendship']],
];

function answer(): void
{
    $path = parse_url('http://localhost' . $_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/';
    foreach (ROUTES as [$method, $pattern, [$class, $action]]) {
        if ($method === $_SERVER['REQUEST_METHOD'] && preg_match($pattern, $path, $parts)) {
            $arguments = array_map('rawurldecode', array_slice($parts, 1));
            (new $class(new Site()))->$action(...$arguments);
            return;
        }
    }
    throw Problem::notFound();
}

try {
    answer();
} catch (Problem $problem) {
    View::problem($problem->status(), $problem->getMessage());
} catch (\Throwable $failure) {
    error_log((string) $failure);
    View::problem(500, 'Out of order');
}
