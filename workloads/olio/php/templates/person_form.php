<?php namespace Olio ?>
<h1>Register</h1>
<?php require __DIR__ . '/errors.php' ?>
<form action="/persons" method="post" enctype="multipart/form-data">
<label>User name <input name="username" value="<?= e(Form::text('username')) ?>" maxlength="25" required></label>
<label>Password <input name="password" type="password" required></label>
<label>Password again <input name="password2" type="password" required></label>
<label>First name <input name="first_name" value="<?= e(Form::text('first_name')) ?>" maxlength="25" required></label>
<label>Last name <input name="last_name" value="<?= e(Form::text('last_name')) ?>" maxlength="25" required></label>
<label>E-mail <input name="email" value="<?= e(Form::text('email')) ?>" maxlength="90" required></label>
<label>Telephone <input name="telephone" value="<?= e(Form::text('telephone')) ?>" maxlength="20" required></label>
<label>Time zone <input name="timezone" value="<?= e(Form::text('timezone')) ?>" maxlength="25" required></label>
<label>Summary <textarea name="summary" maxlength="2500" required><?= e(Form::text('summary')) ?></textarea></label>
<?php require __DIR__ . '/address_fields.php' ?>
<label>Photograph <input name="image" type="file" accept="image/jpeg" required></label>
<button>Register</button>
</form>
