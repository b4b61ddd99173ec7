-- The tables of Olio, the same for all implementations. contract.md says what they are for.
-- Every list has an order that ends in a key, so that no two rows are equal. Collations are binary: no implementation sees another order.

CREATE TABLE address (
    id        INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    street1   VARCHAR(55) NOT NULL,
    street2   VARCHAR(55) NOT NULL,
    city      VARCHAR(55) NOT NULL,
    state     VARCHAR(25) NOT NULL,
    zip       VARCHAR(12) NOT NULL,
    country   VARCHAR(55) NOT NULL,
    latitude  DECIMAL(14, 10) NOT NULL,
    longitude DECIMAL(14, 10) NOT NULL,
    KEY zip (zip)
) ENGINE = InnoDB;

CREATE TABLE person (
    id         INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    username   VARCHAR(25) NOT NULL,
    salt       CHAR(16) NOT NULL,
    password   CHAR(64) NOT NULL,          -- SHA-256 of salt and password, in hexadecimal
    first_name VARCHAR(25) NOT NULL,
    last_name  VARCHAR(25) NOT NULL,
    email      VARCHAR(90) NOT NULL,
    telephone  VARCHAR(25) NOT NULL,
    timezone   VARCHAR(25) NOT NULL,
    summary    VARCHAR(2500) NOT NULL,
    address_id INT UNSIGNED NOT NULL,
    image      VARCHAR(100) NOT NULL,      -- paths below /media
    thumb      VARCHAR(100) NOT NULL,
    UNIQUE KEY username (username)
) ENGINE = InnoDB;

CREATE TABLE friendship (
    from_id  INT UNSIGNED NOT NULL,
    to_id    INT UNSIGNED NOT NULL,
    accepted TINYINT NOT NULL,
    PRIMARY KEY (from_id, to_id),
    KEY to_id (to_id, from_id)
) ENGINE = InnoDB;

CREATE TABLE event (
    id           INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title        VARCHAR(100) NOT NULL,
    summary      VARCHAR(100) NOT NULL,
    description  VARCHAR(500) NOT NULL,
    submitter_id INT UNSIGNED NOT NULL,
    address_id   INT UNSIGNED NOT NULL,
    telephone    VARCHAR(20) NOT NULL,
    timezone     VARCHAR(25) NOT NULL,
    starts_at    DATETIME NOT NULL,
    created_at   DATETIME NOT NULL,
    image        VARCHAR(100) NOT NULL,
    thumb        VARCHAR(100) NOT NULL,
    literature   VARCHAR(100) NOT NULL,    -- empty: there is none
    KEY starts_at (starts_at, id),
    KEY created_at (created_at, id),
    KEY submitter (submitter_id, starts_at, id),
    KEY address (address_id)
) ENGINE = InnoDB;

CREATE TABLE attendance (
    person_id INT UNSIGNED NOT NULL,
    event_id  INT UNSIGNED NOT NULL,
    PRIMARY KEY (person_id, event_id),
    KEY event (event_id, person_id)
) ENGINE = InnoDB;

CREATE TABLE tag (
    id       INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name     VARCHAR(30) NOT NULL,
    refcount INT UNSIGNED NOT NULL,        -- events that have the tag
    UNIQUE KEY name (name),
    KEY refcount (refcount, name)
) ENGINE = InnoDB;

CREATE TABLE event_tag (
    tag_id   INT UNSIGNED NOT NULL,
    event_id INT UNSIGNED NOT NULL,
    PRIMARY KEY (tag_id, event_id),
    KEY event (event_id, tag_id)
) ENGINE = InnoDB;

CREATE TABLE comment (
    id         INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    person_id  INT UNSIGNED NOT NULL,
    event_id   INT UNSIGNED NOT NULL,
    body       VARCHAR(2500) NOT NULL,
    rating     TINYINT UNSIGNED NOT NULL,  -- 0: none
    created_at DATETIME NOT NULL,
    KEY event (event_id, id)
) ENGINE = InnoDB;
