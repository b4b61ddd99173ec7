CREATE OR REPLACE USER 'olio'@'%' IDENTIFIED BY '{{ password }}';
GRANT SELECT, INSERT, UPDATE, DELETE ON olio.* TO 'olio'@'%';
