<?php namespace Olio ?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title><?= e($title) ?> - Olio</title>
</head>
<body>
<h1><?= e($title) ?></h1>
<p><a href="/">Events</a></p>
</body>
</html>
