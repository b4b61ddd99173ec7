<?php namespace Olio ?>
<ol class="events">
<?php foreach ($events as $event): ?>
<li>
<a class="event" href="/events/<?= e($event->id) ?>"><img src="/media/<?= e($event->thumb) ?>" alt=""> <?= e($event->title) ?></a>
<time><?= e($event->starts) ?></time>
<p><?= e($event->summary) ?></p>
</li>
<?php endforeach ?>
</ol>
