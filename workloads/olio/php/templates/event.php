<?php namespace Olio ?>
<h1><?= e($event->title) ?></h1>
<p><img src="/media/<?= e($event->thumb) ?>" alt=""> <a href="/media/<?= e($event->image) ?>">Photograph</a><?php if ($event->literature !== ''): ?> <a href="/media/<?= e($event->literature) ?>">Leaflet</a><?php endif ?></p>
<dl>
<dt>When</dt><dd><time><?= e($event->starts) ?></time> <?= e($event->timezone) ?></dd>
<dt>Where</dt><dd><?= e($event->street1) ?> <?= e($event->street2) ?>, <?= e($event->zip) ?> <?= e($event->city) ?>, <?= e($event->state) ?>, <?= e($event->country) ?></dd>
<dt>Place</dt><dd><?= e($event->latitude) ?> <?= e($event->longitude) ?></dd>
<dt>Telephone</dt><dd><?= e($event->telephone) ?></dd>
<dt>Submitted by</dt><dd><a href="/persons/<?= e($event->submitter) ?>"><?= e($event->submitter) ?></a></dd>
</dl>
<p class="summary"><?= e($event->summary) ?></p>
<p class="description"><?= e($event->description) ?></p>
<p class="tags">
<?php foreach ($tags as $tag): ?>
<a href="/tags/<?= e($tag) ?>"><?= e($tag) ?></a>
<?php endforeach ?>
</p>
<?php if ($visitor?->id === $event->submitter_id): ?>
<form action="/events/<?= e($event->id) ?>/delete" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<button>Delete</button>
</form>
<?php endif ?>
<?php require __DIR__ . '/attendees.php' ?>
<section class="comments">
<h2><?= e(count($comments)) ?> comments</h2>
<?php foreach ($comments as $comment): ?>
<article>
<p><a href="/persons/<?= e($comment->author) ?>"><?= e($comment->author) ?></a> <time><?= e($comment->written) ?></time> <?= e($comment->rating) ?> of 5</p>
<p><?= e($comment->body) ?></p>
</article>
<?php endforeach ?>
<?php if ($visitor !== null): ?>
<form class="rating" action="/events/<?= e($event->id) ?>/rating" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<?php foreach (range(1, 5) as $stars): ?>
<button name="rating" value="<?= e($stars) ?>"<?php if ($stars === $visitor->rating): ?> class="chosen"<?php endif ?>><?= e($stars) ?></button>
<?php endforeach ?>
</form>
<form action="/events/<?= e($event->id) ?>/comments" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<textarea name="comment" maxlength="2500" required></textarea>
<button>Comment</button>
</form>
<?php endif ?>
</section>
