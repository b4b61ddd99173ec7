# Each thread of each process has a connection to the database.
workers Integer(ENV.fetch("OLIO_PROCESSES", "0"))
threads Integer(ENV.fetch("OLIO_WORKERS")), Integer(ENV.fetch("OLIO_WORKERS"))
bind "unix://#{ENV.fetch('OLIO_SOCKET')}?umask=0000"
environment "production"
preload_app!
