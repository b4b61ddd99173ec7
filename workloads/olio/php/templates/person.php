<?php namespace Olio ?>
<h1><?= e($person->first_name) ?> <?= e($person->last_name) ?></h1>
<p><img src="/media/<?= e($person->thumb) ?>" alt=""> <a href="/media/<?= e($person->image) ?>">Photograph</a></p>
<dl>
<dt>User name</dt><dd><?= e($person->username) ?></dd>
<dt>E-mail</dt><dd><?= e($person->email) ?></dd>
<dt>Telephone</dt><dd><?= e($person->telephone) ?></dd>
<dt>Time zone</dt><dd><?= e($person->timezone) ?></dd>
<dt>Home</dt><dd><?= e($person->city) ?>, <?= e($person->state) ?>, <?= e($person->country) ?></dd>
</dl>
<p class="summary"><?= e($person->summary) ?></p>
<?php if ($visitor !== null && !$isOwner): ?>
<form class="friend" action="/friends" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<input type="hidden" name="person" value="<?= e($person->username) ?>">
<?php if ($relation === 'friend'): ?>
<p>Friend</p>
<?php elseif ($relation === 'asked'): ?>
<button name="action" value="revoke">Revoke request</button>
<?php elseif ($relation === 'asks'): ?>
<button name="action" value="approve">Approve</button> <button name="action" value="reject">Reject</button>
<?php else: ?>
<button name="action" value="request">Request friendship</button>
<?php endif ?>
</form>
<?php endif ?>
<section class="friends">
<h2>Friends</h2>
<ul>
<?php foreach ($friends as $friend): ?>
<li><a href="/persons/<?= e($friend->username) ?>"><img src="/media/<?= e($friend->thumb) ?>" alt=""> <?= e($friend->username) ?></a></li>
<?php endforeach ?>
</ul>
</section>
<?php if ($isOwner): ?>
<section class="requests">
<h2>Requests</h2>
<?php foreach ($incoming as $name): ?>
<form action="/friends" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<input type="hidden" name="person" value="<?= e($name) ?>">
<a href="/persons/<?= e($name) ?>"><?= e($name) ?></a>
<button name="action" value="approve">Approve</button>
<button name="action" value="reject">Reject</button>
</form>
<?php endforeach ?>
<?php foreach ($outgoing as $name): ?>
<form action="/friends" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<input type="hidden" name="person" value="<?= e($name) ?>">
<a href="/persons/<?= e($name) ?>"><?= e($name) ?></a>
<button name="action" value="revoke">Revoke</button>
</form>
<?php endforeach ?>
</section>
<?php endif ?>
<section class="posted">
<h2>Events</h2>
<?php require __DIR__ . '/event_list.php' ?>
</section>
