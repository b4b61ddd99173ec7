<?php
declare(strict_types=1);

namespace Olio;

/** What people upload: thumbnails, places below `media`, and where an address is. */
final class Upload
{
    private const THUMB = 120;
    private const QUALITY = 80;

    /** A thumbnail of the photograph, as JPEG; null if the file is no image. */
    public static function thumbnail(string $photograph): ?string
    {
        $image = @imagecreatefromstring($photograph);
        if ($image === false) {
            return null;
        }
        [$width, $height] = [imagesx($image), imagesy($image)];
        $scale = min(1, self::THUMB / max($width, $height));
        [$small_width, $small_height] = [max(1, (int) round($width * $scale)), max(1, (int) round($height * $scale))];
        $small = imagecreatetruecolor($small_width, $small_height);
        imagecopyresampled($small, $image, 0, 0, 0, 0, $small_width, $small_height, $width, $height);
        ob_start();
        imagejpeg($small, null, self::QUALITY);
        return ob_get_clean();
    }

    /** Where an uploaded object is below `media`: capitals tell it from loaded ones. */
    public static function place(string $kind, int $id, string $name): string
    {
        return sprintf('%s/%03d/%03d/%s', $kind, $id % 1000, intdiv($id, 1_000_000) % 1000, $name);
    }

    public static function store(Site $site, string $place, string $bytes): void
    {
        $path = "$site->uploads/media/$place";
        @mkdir(dirname($path), recursive: true);
        if (file_put_contents($path, $bytes) !== strlen($bytes)) {
            throw new \RuntimeException("$path cannot be written");
        }
    }

    /** Geocodes the form's address, inserts it and returns its id. */
    public static function insertAddress(Site $site, array $location): int
    {
        return $site->database()->insert(
            'INSERT INTO address (street1, street2, city, state, zip, country, latitude, longitude) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
            Form::text('street1'),
            Form::text('street2'),
            Form::text('city'),
            Form::text('state'),
            Form::text('zip'),
            Form::text('country'),
            ...$location,
        );
    }

    /** Latitude and longitude of the form's address. */
    public static function geocode(Site $site): array
    {
        $address = ['street' => Form::text('street1'), 'city' => Form::text('city'), 'state' => Form::text('state'), 'zip' => Form::text('zip')];
        $answer = file_get_contents("$site->geocoder/geocode?" . http_build_query($address));
        if (!preg_match('#<Latitude>([^<]+)</Latitude>\s*<Longitude>([^<]+)</Longitude>#', $answer ?: '', $place)) {
            throw new \RuntimeException('the geocoder does not answer');
        }
        return [$place[1], $place[2]];
    }
}
