<?php namespace Olio ?>
<nav class="pages">
<?php foreach ($links as [$label, $href]): ?>
<?php if ($href === null): ?><b><?= e($label) ?></b><?php else: ?><a href="<?= e($href) ?>"><?= e($label) ?></a><?php endif ?>
<?php endforeach ?>
</nav>
