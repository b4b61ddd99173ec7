<?php
declare(strict_types=1);

namespace Olio;

/** People register, and become friends. */
final class PersonChanges
{
    /** MariaDB's error for a key that is there already. */
    private const DUPLICATE_KEY = 1062;

    private const FRIENDSHIP = [
        'request' => 'INSERT IGNORE INTO friendship (from_id, to_id, accepted) SELECT ?, id, 0 FROM person WHERE username = ?',
        'approve' => 'UPDATE friendship f JOIN person p ON p.id = f.from_id SET f.accepted = 1 WHERE f.to_id = ? AND p.username = ?',
        'reject' => 'DELETE f FROM friendship f JOIN person p ON p.id = f.from_id
                     WHERE f.to_id = ? AND p.username = ? AND f.accepted = 0',
        'revoke' => 'DELETE f FROM friendship f JOIN person p ON p.id = f.to_id
                     WHERE f.from_id = ? AND p.username = ? AND f.accepted = 0',
    ];

    public function __construct(private readonly Site $site)
    {
    }

    public function form(): void
    {
        View::page($this->site, Visitor::current(), 'person_form', ['title' => 'Register', 'errors' => []]);
    }

    /** Whoever registers is not logged in by it, so there is no token. */
    public function add(): void
    {
        $errors = $this->errors();
        $thumb = $errors === [] ? Upload::thumbnail(Form::file('image')) : null;
        if ($errors === [] && $thumb === null) {
            $errors = ['image: a JPEG file'];
        }
        if ($errors === [] && !$this->register($thumb)) {
            $errors = ['username: somebody has it'];
        }
        if ($errors !== []) {
            View::page($this->site, Visitor::current(), 'person_form', ['title' => 'Register', 'errors' => $errors], 422);
            return;
        }
        View::redirect('/persons/' . Form::text('username'));
    }

    private function errors(): array
    {
        $form = new Form();
        $form->require(preg_match('/^[A-Za-z0-9]{6,25}$/D', Form::text('username')) === 1, 'username: 6 to 25 letters and digits');
        $form->length('password', 1, 72);
        $form->require(Form::text('password') === Form::text('password2'), 'password2: the same password again');
        $form->length('first_name', 1, 25);
        $form->length('last_name', 1, 25);
        $form->length('email', 3, 90);
        $form->require(str_contains(Form::text('email'), '@'), 'email: an address with @');
        $form->telephone();
        $form->length('timezone', 1, 25);
        $form->length('summary', 1, 2500);
        $form->address();
        $form->image();
        return $form->errors;
    }

    /** False if somebody else has the name. */
    private function register(string $thumb): bool
    {
        $location = Upload::geocode($this->site);
        try {
            $this->site->database()->transaction(function () use ($location, $thumb): void {
                $id = $this->insertPerson(Upload::insertAddress($this->site, $location));
                $image = Upload::place('persons', $id, "P$id.jpg");
                $thumbPlace = Upload::place('personThumbs', $id, "P{$id}t.jpg");
                Upload::store($this->site, $image, Form::file('image'));
                Upload::store($this->site, $thumbPlace, $thumb);
                $this->site->database()->execute('UPDATE person SET image = ?, thumb = ? WHERE id = ?', $image, $thumbPlace, $id);
            });
        } catch (\PDOException $failure) {
            if ($failure->errorInfo[1] === self::DUPLICATE_KEY) {
                return false;
            }
            throw $failure;
        }
        return true;
    }

    private function insertPerson(int $address): int
    {
        $salt = bin2hex(random_bytes(8));
        return $this->site->database()->insert(
            "INSERT INTO person (username, salt, password, first_name, last_name, email, telephone, timezone, summary, address_id,
                                 image, thumb)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')",
            Form::text('username'),
            $salt,
            Login::hash($salt, Form::text('password')),
            Form::text('first_name'),
            Form::text('last_name'),
            Form::text('email'),
            Form::text('telephone'),
            Form::text('timezone'),
            Form::text('summary'),
            $address,
        );
    }

    public function friendship(): void
    {
        $action = Form::text('action');
        $answers = in_array($action, ['approve', 'reject'], true);
        $visitor = Visitor::changing(changesSession: $answers);
        $statement = self::FRIENDSHIP[$action] ?? throw Problem::badRequest();
        if (Form::text('person') === $visitor->name) {
            throw Problem::badRequest();
        }
        $this->site->database()->execute($statement, $visitor->id, Form::text('person'));
        if ($answers) {
            Visitor::keep('requests', Login::countRequests($this->site, $visitor->id));
        }
        View::redirect("/persons/$visitor->name");
    }
}
