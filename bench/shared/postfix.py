"""Lines of main.cf that each Postfix of a bench has: its own directories, loopback, one virtual domain, no limit and no TLS."""

MAIN_CF = """
compatibility_level = 3.6
queue_directory = {directory}/queue
data_directory = {directory}/data
mail_owner = postfix
setgid_group = postdrop
maillog_file = {directory}/maillog
maillog_file_prefixes = {directory}
myhostname = mx.example
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
local_recipient_maps =
alias_maps =
alias_database =
virtual_mailbox_domains = mx.example
smtpd_peername_lookup = no
smtpd_relay_restrictions = reject_unauth_destination
smtpd_tls_security_level = none
smtpd_client_connection_count_limit = 0
in_flow_delay = 0
"""
