<?php
declare(strict_types=1);

namespace Olio;

use PDO;
use PDOStatement;

/** A connection that stays open between requests, and statements with bound parameters. */
final class Database
{
    /** MariaDB's error for a transaction that it has rolled back because two waited for each other. */
    private const DEADLOCK = 1213;
    private const MOST_ATTEMPTS = 5;

    private function __construct(private readonly PDO $pdo)
    {
    }

    public static function connect(string $address, string $password): self
    {
        [$host, $port] = explode(':', $address);
        $pdo = new PDO("mysql:host=$host;port=$port;dbname=olio;charset=utf8mb4", 'olio', $password, [
            PDO::ATTR_PERSISTENT => true,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_OBJ,
            PDO::MYSQL_ATTR_FOUND_ROWS => false,
        ]);
        return new self($pdo);
    }

    public function execute(string $statement, mixed ...$values): PDOStatement
    {
        $prepared = $this->pdo->prepare($statement);
        foreach ($values as $index => $value) {
            $prepared->bindValue($index + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $prepared->execute();
        return $prepared;
    }

    /** @return list<object> */
    public function rows(string $statement, mixed ...$values): array
    {
        return $this->execute($statement, ...$values)->fetchAll();
    }

    public function row(string $statement, mixed ...$values): ?object
    {
        return $this->execute($statement, ...$values)->fetch() ?: null;
    }

    /** The first column of each row. */
    public function column(string $statement, mixed ...$values): array
    {
        return $this->execute($statement, ...$values)->fetchAll(PDO::FETCH_COLUMN);
    }

    /** The first column of the first row. */
    public function value(string $statement, mixed ...$values): mixed
    {
        return $this->execute($statement, ...$values)->fetchColumn();
    }

    public function insert(string $statement, mixed ...$values): int
    {
        $this->execute($statement, ...$values);
        return (int) $this->pdo->lastInsertId();
    }

    /** All of the work is done, or nothing of it. What the database ends as a deadlock is begun again. */
    public function transaction(callable $work): mixed
    {
        for ($attempt = 1; ; $attempt++) {
            $this->pdo->beginTransaction();
            try {
                $result = $work();
                $this->pdo->commit();
                return $result;
            } catch (\Throwable $failure) {
                $this->pdo->rollBack();
                $isDeadlock = $failure instanceof \PDOException && ($failure->errorInfo[1] ?? 0) === self::DEADLOCK;
                if (!$isDeadlock || $attempt === self::MOST_ATTEMPTS) {
                    throw $failure;
                }
            }
        }
    }
}
