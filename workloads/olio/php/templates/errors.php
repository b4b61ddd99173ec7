<?php namespace Olio ?>
<?php if ($errors !== []): ?>
<ul class="errors">
<?php foreach ($errors as $error): ?>
<li><?= e($error) ?></li>
<?php endforeach ?>
</ul>
<?php endif ?>
