<?php namespace Olio ?>
<h1>Add an event</h1>
<?php require __DIR__ . '/errors.php' ?>
<?php if ($visitor === null): ?>
<p>Log in to add an event.</p>
<?php else: ?>
<form action="/events" method="post" enctype="multipart/form-data">
<input type="hidden" name="token" value="<?= e($visitor->token) ?>">
<label>Title <input name="title" value="<?= e(Form::text('title')) ?>" maxlength="100" required></label>
<label>Summary <input name="summary" value="<?= e(Form::text('summary')) ?>" maxlength="100" required></label>
<label>Description <textarea name="description" maxlength="500" required><?= e(Form::text('description')) ?></textarea></label>
<label>Date <input name="date" type="date" value="<?= e(Form::text('date')) ?>" required></label>
<label>Hour <input name="hour" type="number" min="0" max="23" value="<?= e(Form::text('hour')) ?>" required></label>
<label>Minute <input name="minute" type="number" min="0" max="59" value="<?= e(Form::text('minute')) ?>" required></label>
<label>Time zone <input name="timezone" value="<?= e(Form::text('timezone')) ?>" maxlength="25" required></label>
<label>Telephone <input name="telephone" value="<?= e(Form::text('telephone')) ?>" maxlength="20" required></label>
<?php require __DIR__ . '/address_fields.php' ?>
<label>Tags <input name="tags" value="<?= e(Form::text('tags')) ?>" required></label>
<label>Photograph <input name="image" type="file" accept="image/jpeg" required></label>
<label>Leaflet <input name="literature" type="file" accept="application/pdf"></label>
<button>Add</button>
</form>
<?php endif ?>
