<?php namespace Olio ?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title><?= e($title) ?> - Olio</title>
<link rel="stylesheet" href="/static/reset.css">
<link rel="stylesheet" href="/static/site.css">
<link rel="stylesheet" href="/static/scaffold.css">
<script defer src="/static/core.js"></script>
<script defer src="/static/effects.js"></script>
<script defer src="/static/drag.js"></script>
<script defer src="/static/controls.js"></script>
<script defer src="/static/validate.js"></script>
<script defer src="/static/stars.js"></script>
<script defer src="/static/live.js"></script>
</head>
<body>
<header>
<a class="logo" href="/"><img src="/static/logo.png" alt="Olio"></a>
<nav>
<a href="/">Events</a>
<a href="/events/new">Add an event</a>
<a href="/persons/new">Register</a>
</nav>
<form class="search" action="/tags" method="post">
<input name="tag" placeholder="Tag" maxlength="30" required>
<button>Search</button>
</form>
<?php if ($visitor !== null): ?>
<div class="visitor">
<p>Hello <a href="/persons/<?= e($visitor->name) ?>"><?= e($visitor->name) ?></a>, <?= e($visitor->requests) ?> requests</p>
<form action="/logout" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<button>Log out</button>
</form>
</div>
<?php else: ?>
<form class="login" action="/login" method="post">
<input name="username" placeholder="User name" required>
<input name="password" type="password" placeholder="Password" required>
<button>Log in</button>
</form>
<?php endif ?>
</header>
<?php if ($visitor !== null): ?>
<aside>
<h2>Your next events</h2>
<ul>
<?php foreach ($upcoming as $event): ?>
<li><a href="/events/<?= e($event->id) ?>"><?= e($event->title) ?></a> <time><?= e($event->starts) ?></time></li>
<?php endforeach ?>
</ul>
</aside>
<?php endif ?>
<main>
<?= $main ?>
</main>
</body>
</html>
