<?php
declare(strict_types=1);

namespace Olio;

/** Fields of the form that was sent, and their checks. */
final class Form
{
    /** @var list<string> */
    public array $errors = [];

    /** The field, without blanks around it; empty if it was not sent. */
    public static function text(string $name): string
    {
        $value = $_POST[$name] ?? '';
        return is_string($value) ? trim($value) : '';
    }

    /** The file; empty if none was sent. */
    public static function file(string $name): string
    {
        $file = $_FILES[$name] ?? null;
        return $file !== null && $file['error'] === UPLOAD_ERR_OK ? file_get_contents($file['tmp_name']) : '';
    }

    /** The tags in the order of the alphabet, each once. */
    public static function tags(): array
    {
        $tags = array_unique(preg_split('/\s+/', mb_strtolower(self::text('tags')), -1, PREG_SPLIT_NO_EMPTY));
        sort($tags, SORT_STRING);
        return $tags;
    }

    public static function isZip(string $text): bool
    {
        return preg_match('/^\d{5}$/D', $text) === 1;
    }

    public static function isTag(string $text): bool
    {
        return preg_match('/^[a-z0-9-]{1,30}$/D', $text) === 1;
    }

    public static function isDate(string $text): bool
    {
        return preg_match('/^([1-9]\d{3})-(\d\d)-(\d\d)$/D', $text, $parts) === 1
            && checkdate((int) $parts[2], (int) $parts[3], (int) $parts[1]);
    }

    public function require(bool $holds, string $error): void
    {
        if (!$holds) {
            $this->errors[] = $error;
        }
    }

    public function length(string $name, int $least, int $most): void
    {
        $length = mb_strlen(self::text($name));
        $this->require($least <= $length && $length <= $most, "$name: $least to $most characters");
    }

    public function telephone(): void
    {
        $this->require(preg_match('/^[0-9 +-]{7,20}$/D', self::text('telephone')) === 1, 'telephone: 7 to 20 digits');
    }

    public function address(): void
    {
        $this->length('street1', 1, 55);
        $this->length('street2', 0, 55);
        $this->length('city', 1, 55);
        $this->length('state', 1, 25);
        $this->require(self::isZip(self::text('zip')), 'zip: five digits');
        $this->length('country', 1, 55);
    }

    public function time(): void
    {
        $this->require(self::isDate(self::text('date')), 'date: a day');
        $this->number('hour', 23);
        $this->number('minute', 59);
    }

    public function number(string $name, int $most): void
    {
        $text = self::text($name);
        $this->require(preg_match('/^\d{1,2}$/D', $text) === 1 && (int) $text <= $most, "$name: 0 to $most");
    }

    public function image(): void
    {
        $this->require(str_starts_with(self::file('image'), "\xFF\xD8\xFF"), 'image: a JPEG file');
    }
}
