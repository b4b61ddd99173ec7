<?php
declare(strict_types=1);

namespace Olio;

/** What a request may use: settings, the database, the cache. Connections outlive the request. */
final class Site
{
    public readonly string $now;
    public readonly string $uploads;
    public readonly string $geocoder;
    private ?Database $database = null;
    private ?\Memcached $cache = null;

    public function __construct()
    {
        $this->now = getenv('OLIO_NOW');
        $this->uploads = getenv('OLIO_UPLOADS');
        $this->geocoder = getenv('OLIO_GEOCODER');
    }

    public function database(): Database
    {
        return $this->database ??= Database::connect(getenv('OLIO_DATABASE'), getenv('OLIO_DATABASE_PASSWORD'));
    }

    /** A cache that does not answer has no values. */
    public function cache(): \Memcached
    {
        if ($this->cache === null) {
            $this->cache = new \Memcached('olio');
            if ($this->cache->getServerList() === []) {
                [$host, $port] = explode(':', getenv('OLIO_CACHE'));
                $this->cache->setOptions([
                    \Memcached::OPT_COMPRESSION => false,
                    \Memcached::OPT_TCP_NODELAY => true,
                    \Memcached::OPT_CONNECT_TIMEOUT => 500,
                ]);
                $this->cache->addServer($host, (int) $port);
            }
        }
        return $this->cache;
    }
}
