CREATE DATABASE load_test;
CREATE USER 'showdown'@'{{ host }}' IDENTIFIED BY '{{ password }}';
GRANT ALL ON load_test.* TO 'showdown'@'{{ host }}';
