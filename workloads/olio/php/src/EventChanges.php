<?php
declare(strict_types=1);

namespace Olio;

/** What changes an event: it is added, commented, rated, deleted. */
final class EventChanges
{
    public function __construct(private readonly Site $site)
    {
    }

    public function form(): void
    {
        View::page($this->site, Visitor::current(), 'event_form', ['title' => 'Add an event', 'errors' => []]);
    }

    public function add(): void
    {
        $visitor = Visitor::changing();
        $errors = $this->errors();
        $thumb = $errors === [] ? Upload::thumbnail(Form::file('image')) : null;
        if ($errors === [] && $thumb === null) {
            $errors = ['image: a JPEG file'];
        }
        if ($errors !== []) {
            View::page($this->site, $visitor, 'event_form', ['title' => 'Add an event', 'errors' => $errors], 422);
            return;
        }
        $location = Upload::geocode($this->site);
        $id = $this->site->database()->transaction(function () use ($visitor, $location, $thumb): int {
            $database = $this->site->database();
            $id = $this->insertEvent($visitor, Upload::insertAddress($this->site, $location));
            foreach (Form::tags() as $tag) {
                $tagId = $database->insert(
                    'INSERT INTO tag (name, refcount) VALUES (?, 1)
                     ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), refcount = refcount + 1',
                    $tag,
                );
                $database->execute('INSERT INTO event_tag (tag_id, event_id) VALUES (?, ?)', $tagId, $id);
            }
            $database->execute('INSERT INTO attendance (person_id, event_id) VALUES (?, ?)', $visitor->id, $id);
            $this->storeFiles($id, $thumb);
            return $id;
        });
        View::redirect("/events/$id");
    }

    private function errors(): array
    {
        $form = new Form();
        $form->length('title', 1, 100);
        $form->length('summary', 1, 100);
        $form->length('description', 1, 500);
        $form->time();
        $form->length('timezone', 1, 25);
        $form->telephone();
        $form->address();
        $tags = Form::tags();
        $form->require(
            count($tags) >= 1 && count($tags) <= 7 && array_filter($tags, Form::isTag(...)) === $tags,
            'tags: 1 to 7 words of letters, digits and hyphens',
        );
        $form->image();
        $literature = Form::file('literature');
        $form->require($literature === '' || str_starts_with($literature, '%PDF'), 'literature: a PDF file');
        return $form->errors;
    }

    private function insertEvent(Visitor $visitor, int $address): int
    {
        return $this->site->database()->insert(
            "INSERT INTO event (title, summary, description, submitter_id, address_id, telephone, timezone, starts_at, created_at,
                                image, thumb, literature)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '')",
            Form::text('title'),
            Form::text('summary'),
            Form::text('description'),
            $visitor->id,
            $address,
            Form::text('telephone'),
            Form::text('timezone'),
            sprintf('%s %02d:%02d:00', Form::text('date'), Form::text('hour'), Form::text('minute')),
            $this->site->now,
        );
    }

    /** Files are there before the event is: a page never names one that is not. */
    private function storeFiles(int $id, string $thumb): void
    {
        $image = Upload::place('events', $id, "E$id.jpg");
        $thumbPlace = Upload::place('eventThumbs', $id, "E{$id}t.jpg");
        Upload::store($this->site, $image, Form::file('image'));
        Upload::store($this->site, $thumbPlace, $thumb);
        $literature = '';
        if (Form::file('literature') !== '') {
            $literature = Upload::place('eventLits', $id, "E{$id}l.pdf");
            Upload::store($this->site, $literature, Form::file('literature'));
        }
        $this->site->database()->execute(
            'UPDATE event SET image = ?, thumb = ?, literature = ? WHERE id = ?',
            $image,
            $thumbPlace,
            $literature,
            $id,
        );
    }

    public function comment(string $id): void
    {
        $visitor = Visitor::changing();
        $body = Form::text('comment');
        if ($body === '' || mb_strlen($body) > 2500) {
            throw Problem::badRequest();
        }
        $added = $this->site->database()->execute(
            'INSERT INTO comment (person_id, event_id, body, rating, created_at) SELECT ?, id, ?, ?, ? FROM event WHERE id = ?',
            $visitor->id,
            $body,
            $visitor->rating,
            $this->site->now,
            (int) $id,
        );
        if ($added->rowCount() === 0) {
            throw Problem::notFound();
        }
        View::redirect("/events/$id");
    }

    /** The rating stays in the session until the visitor comments. */
    public function rate(string $id): void
    {
        Visitor::changing(changesSession: true);
        if (!in_array(Form::text('rating'), ['1', '2', '3', '4', '5'], true)) {
            throw Problem::badRequest();
        }
        Visitor::keep('rating', (int) Form::text('rating'));
        View::redirect("/events/$id");
    }

    public function delete(string $id): void
    {
        $visitor = Visitor::changing();
        $this->site->database()->transaction(function () use ($id, $visitor): void {
            $database = $this->site->database();
            $event = $database->row('SELECT submitter_id, address_id FROM event WHERE id = ? FOR UPDATE', (int) $id)
                ?? throw Problem::notFound();
            if ($event->submitter_id !== $visitor->id) {
                throw Problem::forbidden();
            }
            $database->execute(
                'UPDATE tag SET refcount = refcount - 1 WHERE id IN (SELECT tag_id FROM event_tag WHERE event_id = ?)',
                (int) $id,
            );
            foreach (['event_tag', 'attendance', 'comment'] as $table) {
                $database->execute("DELETE FROM $table WHERE event_id = ?", (int) $id);
            }
            $database->execute('DELETE FROM event WHERE id = ?', (int) $id);
            $database->execute('DELETE FROM address WHERE id = ?', $event->address_id);
        });
        View::redirect('/');
    }
}
