CREATE DATABASE load_test;
CREATE USER 'showdown'@'{{ "%" if remote else host }}' IDENTIFIED BY '{{ password }}';
GRANT ALL ON load_test.* TO 'showdown'@'{{ "%" if remote else host }}';
