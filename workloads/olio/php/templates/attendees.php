<?php namespace Olio ?>
<section id="attendees">
<h2><?= e($attendees['count']) ?> attendees</h2>
<ul>
<?php foreach ($attendees['names'] as $name): ?>
<li><a href="/persons/<?= e($name) ?>"><?= e($name) ?></a></li>
<?php endforeach ?>
</ul>
<?php if ($visitor !== null): ?>
<form class="live" action="/events/<?= e($attendees['event']) ?>/<?php if ($attendees['attends']): ?>unattend<?php else: ?>attend<?php endif ?>" method="post">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<button><?php if ($attendees['attends']): ?>Unattend<?php else: ?>Attend<?php endif ?></button>
</form>
<?php endif ?>
</section>
