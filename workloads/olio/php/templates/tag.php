<?php namespace Olio ?>
<h1>Events with the tag <?= e($tag) ?></h1>
<p><?= e($refcount) ?> events</p>
<?php require __DIR__ . '/event_list.php' ?>
<?php require __DIR__ . '/pages.php' ?>
