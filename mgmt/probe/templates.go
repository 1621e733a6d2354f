package probe

// Template is a predefined check for operators. If the product family has the check, name and
// command are the same there.
type Template struct {
	Name, Description, Command string
	// CutConns: connections of a backend are closed when the check finds it down.
	CutConns bool
}

// Templates returns the built-in checks in the order in which they are shown.
func Templates() []Template {
	return []Template{
		{Name: "check_tcp", Description: "A TCP connection to the port is made.", Command: "check_tcp -p PORT -H HOST"},
		{Name: "check_http", Description: "HTTP: the page / is answered with status 200.", Command: "check_http -I HOST -p PORT -e 200 -t 5"},
		{Name: "check_https", Description: "HTTPS: the page / is answered with status 200.", Command: "check_http -I HOST -p PORT -e 200 -t 5 -S"},
		{Name: "check_http_response_string", Description: "HTTP: the page / is answered with status 200 and has a text. Copy it and write the text in place of 'string'.", Command: "check_http -I HOST -p PORT -e 200 -s 'string'"},
		{Name: "check_https_response_string", Description: "HTTPS: the page / is answered with status 200 and has a text. Copy it and write the text in place of 'string'.", Command: "check_http -I HOST -p PORT -S -e 200 -s 'string' -t 5"},
		{Name: "check_tls", Description: "A TLS handshake succeeds, and the certificate is valid for 7 days more.", Command: "check_tls -H HOST -p PORT -D 7 -t 5"},
		{Name: "check_ping", Description: "One of two echo requests is answered within 2 ms.", Command: "check_ping -H HOST -w 2,100% -c 2,100% -p 2", CutConns: true},
		{Name: "check_udp", Description: "UDP: the port is not refused. A server that answers nothing counts as healthy.", Command: "nmap -sU -p PORT HOST | grep open", CutConns: true},
		{Name: "check_udp_nc", Description: "UDP: the port is not refused within a second.", Command: "nc -vz -w 1 -u HOST PORT", CutConns: true},
		{Name: "check_dns", Description: "DNS: the server answers for a name. Copy it and write a name of yours.", Command: "check_dig -H HOST -p PORT -l localhost"},
		{Name: "check_smtp", Description: "SMTP: the server greets and takes HELO.", Command: "check_smtp -H HOST -p PORT -C 'hello host' -t 5"},
		{Name: "check_imap", Description: "IMAP: the server greets.", Command: "check_imap -H HOST -p PORT -t 5"},
		{Name: "check_pop", Description: "POP3: the server greets.", Command: "check_pop -H HOST -p PORT -t 5"},
		{Name: "check_ftp", Description: "FTP: the server greets.", Command: "check_ftp -H HOST -p PORT -t 5"},
		{Name: "check_ldap", Description: "LDAP: bind and search. Copy it and write base, name and password of yours.", Command: "check_ldap -H HOST -p PORT -b 'dc=example,dc=com' -D 'cn=check,dc=example,dc=com' -P 'password' -3 -t 5"},
		{Name: "check_ldaps", Description: "LDAP over TLS: bind and search. Copy it and write base, name and password of yours.", Command: "check_ldaps -H HOST -p PORT -b 'dc=example,dc=com' -D 'cn=check,dc=example,dc=com' -P 'password' -3 -t 5"},
		{Name: "check_redis", Description: "Redis answers and is a master.", Command: "check_redis -h HOST -p PORT", CutConns: true},
		{Name: "check_memcached", Description: "Memcached answers with its version.", Command: "check_memcached -H HOST -p PORT -t 5"},
		{Name: "check_mysql", Description: "MySQL, MariaDB: the server lets the user in. Copy it and write user and password of yours.", Command: "check_mysql -H HOST -P PORT -u check -p 'password' -t 5"},
		{Name: "check_pgsql", Description: "PostgreSQL: the server lets the user into a database. Copy it and write names and password of yours.", Command: "check_pgsql -H HOST -P PORT -d postgres -l check -p 'password' -t 5"},
		{Name: "check_mongodb", Description: "MongoDB answers hello.", Command: "check_mongodb -H HOST -p PORT -t 5"},
		{Name: "check_mssql", Description: "Microsoft SQL Server answers PRELOGIN.", Command: "check_mssql -H HOST -p PORT -t 5"},
		{Name: "check_oracle", Description: "The listener of Oracle takes a connection for a service. Copy it and write the service.", Command: "check_oracle -H HOST -p PORT -s 'service' -t 5"},
		{Name: "check_radius", Description: "RADIUS: the user is accepted. Copy it and write user, password and secret of yours.", Command: "check_radius -H HOST -P PORT -u check -p 'password' --secret 'secret' -t 5"},
		{Name: "check_sip", Description: "SIP: OPTIONS is answered. Copy it and write user and password of yours, or leave them out.", Command: "check_sip --username 'name' --password 'password' -R HOST:PORT", CutConns: true},
		{Name: "check_mqtt", Description: "MQTT: the broker takes a connection.", Command: "check_mqtt -H HOST -p PORT -t 5"},
		{Name: "check_ntp_time", Description: "NTP: the server is synchronized, and less than a second from this clock.", Command: "check_ntp_time -H HOST -p PORT -w 1 -c 1 -t 5"},
		{Name: "check_snmp", Description: "SNMP: the agent tells how long it has been up.", Command: "check_snmp -H HOST -p PORT -o 1.3.6.1.2.1.1.3.0 -C public -P 2c -t 5"},
		{Name: "check_grpc", Description: "gRPC: the health service says SERVING.", Command: "check_grpc -H HOST -p PORT -t 5"},
		{Name: "check_websocket", Description: "WebSocket: the server takes the upgrade at /.", Command: "check_websocket -H HOST -p PORT -u / -t 5"},
		{Name: "check_sluice", Description: "Sluice: the farm with this address and port, of another Sluice, is up; it tells how many connections it has. Copy it and write an API key of that Sluice, and where its API is.", Command: "check_sluice -H HOST -p PORT --api HOST:444 -k 'key' -t 5"},
		{Name: "check_common", Description: "A program of yours: copy it and write the command. It is healthy when it ends with 0."},
	}
}
