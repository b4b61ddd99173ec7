<?php namespace Olio ?>
<h1>Events</h1>
<form class="filter" action="/" method="get">
<label>Zip <input name="zip" value="<?= e($filter['zip']) ?>" maxlength="5"></label>
<label>Day <input name="date" type="date" value="<?= e($filter['date']) ?>"></label>
<label>Order <select name="order">
<option value="date"<?php if (!$filter['byCreation']): ?> selected<?php endif ?>>by date</option>
<option value="created"<?php if ($filter['byCreation']): ?> selected<?php endif ?>>newest first</option>
</select></label>
<button>Show</button>
</form>
<?php require __DIR__ . '/event_list.php' ?>
<?php require __DIR__ . '/pages.php' ?>
<section class="cloud">
<h2>Tags</h2>
<?php foreach ($cloud as $tag): ?>
<a class="t<?= e($tag->size) ?>" href="/tags/<?= e($tag->name) ?>"><?= e($tag->name) ?></a>
<?php endforeach ?>
</section>
