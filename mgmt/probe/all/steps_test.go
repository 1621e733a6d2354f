package all_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// secured is the first step of checks with TLS from the first byte on. A step of the
// protocol follows it.
const secured = "TLS handshake"

// firstSteps are the steps of each conversation up to the first one of its protocol.
var firstSteps = map[string][]string{
	"check_tcp -p PORT -e PONG": {"greeting"}, "check_tcp -p PORT -S": {secured}, "check_tls -p PORT": {secured},
	"check_imap -p PORT": {"greeting"}, "check_simap -p PORT": {secured, "greeting"}, "check_pop -p PORT": {"greeting"}, "check_spop -p PORT": {secured, "greeting"},
	"check_ftp -p PORT": {"greeting"}, "check_ssmtp -p PORT": {secured, "greeting"}, "check_nntp -p PORT": {"greeting"}, "check_nntps -p PORT": {secured, "greeting"},
	"check_clamd -p PORT": {"answer"}, "check_jabber -p PORT": {"answer"},
	"check_http -p PORT": {"request"}, "check_http -p PORT -S": {secured, "request"}, "check_http -p PORT --http2": {"request"}, "check_http -p PORT --http2 -S": {secured}, "check_http -p PORT -C 1": {secured},
	"check_smtp -p PORT -C 'hello host'": {"greeting"}, "check_smtp -p PORT -S": {"greeting"}, "check_smtp -p PORT --tls": {secured, "greeting"},
	"check_redis -p PORT -a secret": {"login (AUTH)"}, "check_redis -p PORT -S": {secured, "PING"}, "check_memcached -p PORT": {"version"}, "check_mqtt -p PORT": {"login (CONNECT)"},
	"check_mongodb -p PORT": {"hello"}, "check_mssql -p PORT": {"PRELOGIN"}, "check_oracle -p PORT -s service": {"CONNECT"}, "check_websocket -p PORT --ping": {"upgrade"},
	"check_ldap -p PORT -b dc=example": {"bind"}, "check_ldap -p PORT -b dc=example -T": {"STARTTLS"}, "check_ldaps -p PORT -b dc=example": {secured, "bind"},
	"check_mysql -P PORT -n": {"greeting"}, "check_mysql -P PORT -u check -p secret -l": {"greeting"}, "check_pgsql -P PORT -l check -p secret": {"login"}, "check_pgsql -P PORT -l check -S": {"SSLRequest"},
	"check_grpc -p PORT": {"health call"}, "check_grpc -p PORT -S": {secured}, "check_sip -p PORT --tcp": {"OPTIONS"}, "check_sip -R HOST:PORT -S": {secured, "OPTIONS"},
	"check_sluice -p PORT --api HOST:PORT -k key": {secured, "request"}, "check_dns -s HOST -p PORT -H name --tcp": {"query by TCP"}, "check_dig -p PORT -l name --tcp": {"query by TCP"},
}

// nonsense is of no protocol.
const nonsense = "I am something else altogether, my friend\r\n"

// For every fault of a server, the reason names the step of the protocol and the
// observation.
func TestFailuresNameTheirStep(t *testing.T) {
	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("shop.example", expired).TLS()
	for _, command := range conversations {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			steps := firstSteps[command]
			if len(steps) == 0 {
				t.Fatal("its steps are not listed")
			}
			fails(t, command, probetest.Closed(t), "connect: connection refused")
			failsAt(t, command, steps[0], func(talk func(net.Conn)) probe.Target { return probetest.Server(t, talk) })
			if len(steps) > 1 {
				failsAt(t, command, steps[1], func(talk func(net.Conn)) probe.Target { return overTLS(t, leaf, talk) })
			}
			if steps[0] == secured && !strings.Contains(command, " -C ") {
				fails(t, command+" --verify", overTLS(t, leaf, silent), secured+": tls: failed to verify certificate: x509: certificate has expired")
			}
		})
	}
}

func expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
}

func silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// failsAt makes servers fail in all ways at one step.
func failsAt(t *testing.T, command, step string, server func(talk func(net.Conn)) probe.Target) {
	t.Helper()
	fails(t, command, server(silent), step+": no answer within ")
	fails(t, command, server(func(net.Conn) {}), step+": the server closed", step+": the server reset the connection", step+": tls error: the server closed")
	said := failure(t, command, server(func(c net.Conn) { _, _ = io.WriteString(c, nonsense); silent(c) }))
	switch {
	case !strings.HasPrefix(said, step+": "):
		t.Errorf("nonsense: %q, wanted one of step %s", said, step)
	case !slices.ContainsFunc([]string{"I am som", "49 20 61 6d", "no whole answer within ", "refused TLS", "no LDAP message"}, func(seen string) bool { return strings.Contains(said, seen) }):
		t.Errorf("nonsense: %q does not show the input", said)
	}
}

// overTLS starts a server that talks after a handshake.
func overTLS(t *testing.T, leaf tls.Certificate, talk func(net.Conn)) probe.Target {
	return probetest.Server(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{leaf}})
		if s.Handshake() == nil {
			talk(s)
			_ = s.Close()
		}
	})
}

// failure returns the reason of a check that fails.
func failure(t *testing.T, command string, to probe.Target) string {
	t.Helper()
	k := probe.Known{Checks: all.Checks()}
	p, err := k.Parse(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if err = p.Run(ctx, &probe.Machine{}, to, func(string, ...any) {}); err == nil {
		t.Errorf("%s: healthy", command)
		return ""
	}
	return err.Error()
}

// fails fails the test unless the reason begins with one of these.
func fails(t *testing.T, command string, to probe.Target, reasons ...string) {
	t.Helper()
	said := failure(t, command, to)
	if !slices.ContainsFunc(reasons, func(want string) bool { return strings.HasPrefix(said, want) }) {
		t.Errorf("%s: %q, wanted %q", command, said, reasons)
	}
}

// A refusal or an unexpected answer names its step as well: in the greeting of a server,
// and in its answer to each message of the check.
func TestRefusalsNameTheirStep(t *testing.T) {
	const greet, fine = "220 ready\r\n", "250 fine\r\n"
	bound, unbound := ldapResult(1, 0x61, 0), ldapResult(1, 0x61, 49)
	in := "R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"
	for _, c := range []struct {
		command, reason string
		said            []string
	}{
		{"check_tcp -p PORT -s ping -e pong", `answer: no whole answer within `, []string{"", "no\r\n"}},
		{"check_tcp -p PORT -s ping -e pong -m 2", `answer: answered "no", wanted "pong"`, []string{"", "no\r\n"}},
		{"check_ftp -p PORT", `greeting: answered "421 busy", wanted a beginning of "220"`, []string{"421 busy\r\n"}},

		{"check_smtp -p PORT", `greeting: answered "554 go away", wanted "220"`, []string{"554 go away\r\n"}},
		{"check_smtp -p PORT", `HELO: answered "501 no"`, []string{greet, "501 no\r\n"}},
		{"check_smtp -p PORT", "HELO: no answer within ", []string{greet, ""}},
		{"check_smtp -p PORT", "HELO: no whole answer within ", []string{greet, "250"}},
		{"check_smtp -p PORT -S", `STARTTLS: answered "454 not available"`, []string{greet, fine, "454 not available\r\n"}},
		{"check_smtp -p PORT -S", "TLS handshake: tls: first record does not look like a TLS handshake: it begins with", []string{greet, fine, "220 go\r\n", nonsense}},
		{"check_smtp -p PORT -S", "TLS handshake: no answer within ", []string{greet, fine, "220 go\r\n"}},
		{"check_smtp -p PORT -U me -P hunter2", `login: AUTH LOGIN was answered "503 no"`, []string{greet, fine, "503 no\r\n"}},
		{"check_smtp -p PORT -U me -P hunter2", `login: the password was answered "535 no"`, []string{greet, fine, "334 VXNl\r\n", "334 UGFz\r\n", "535 no\r\n"}},
		{"check_smtp -p PORT -U me -P hunter2 -A PLAIN", `login: AUTH PLAIN was answered "535 no"`, []string{greet, fine, "535 no\r\n"}},
		{"check_smtp -p PORT -f a@b.example", `MAIL FROM: answered "451 later"`, []string{greet, fine, "451 later\r\n"}},
		{"check_smtp -p PORT -C NOOP -R 250", `command 1: "NOOP" was answered "500 what", wanted "250"`, []string{greet, fine, "500 what\r\n"}},

		{"check_redis -p PORT -a secret", `login (AUTH): answered "WRONGPASS"`, []string{"", "-WRONGPASS\r\n"}},
		{"check_redis -p PORT -a secret", `login (AUTH): the answer is not that of Redis: it begins with "*** is no password"`, []string{"", "secret is no password\r\n"}},
		{"check_redis -p PORT -a secret", `PING: answered "LOADING"`, []string{"", "+OK\r\n", "-LOADING\r\n"}},
		{"check_redis -p PORT", "ROLE: the server is a slave, wanted a master", []string{"", "+PONG\r\n", "*1\r\n$5\r\nslave\r\n"}},
		{"check_memcached -p PORT", `version: answered "ERROR", wanted its VERSION`, []string{"", "ERROR\r\n"}},
		{"check_mqtt -p PORT", "login (CONNECT): refused: not authorized", []string{"", "\x20\x02\x00\x05"}},
		{"check_mqtt -p PORT", "PINGREQ: answered 20 02, which is no PINGRESP", []string{"", "\x20\x02\x00\x00", "\x20\x02\x00\x00"}},
		{"check_mqtt -p PORT", "PINGREQ: no answer within ", []string{"", "\x20\x02\x00\x00"}},

		{"check_http -p PORT", "response: answered 503 Busy, wanted ", []string{"", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"}},
		{"check_http -p PORT -s hello", `response: "hello" is not in the page`, []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"}},
		{"check_http -p PORT", "response: no whole answer within ", []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nno"}},
		{"check_http -p PORT", "request: no whole answer within ", []string{"", "HTTP/1.1 200 OK\r\n"}},
		{"check_websocket -p PORT", "upgrade: answered 404 Not Found, wanted 101", []string{"", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}},
		{"check_sip -p PORT --tcp", "OPTIONS: answered 503 Busy", []string{"", "SIP/2.0 503 Busy\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"}},

		{"check_mysql -P PORT -n", "greeting: the server refused: 1040 Too many connections", []string{"\x17\x00\x00\x00\xff\x10\x04Too many connections"}},
		{"check_pgsql -P PORT -l check", "login: the server refused: 28P01 no", []string{"", pgError("28P01", "no")}},
		{"check_pgsql -P PORT -l check -q 'SELECT 1'", "query: the server refused: 42P01 no", []string{"", in, pgError("42P01", "no") + "Z\x00\x00\x00\x05I"}},
		{"check_pgsql -P PORT -l check --role primary", "role: no answer within ", []string{"", in}},
		{"check_pgsql -P PORT -l check -S", "SSLRequest: tls error: server refused TLS connection", []string{"", "N"}},
		{"check_pgsql -P PORT -l check -S", "TLS handshake: no answer within ", []string{"", "S"}},
		{"check_oracle -p PORT -s service", "CONNECT: the listener refused: ORA-12514", []string{"", "\x00\x13\x00\x00\x04\x00\x00\x00(ERR=12514)"}},

		{"check_ldap -p PORT -b dc=example -T", "STARTTLS: the directory answered 52 (Unavailable)", []string{"", ldapResult(1, 0x78, 52)}},
		{"check_ldap -p PORT -b dc=example -T", "TLS handshake: tls: first record does not look like a TLS handshake", []string{"", ldapResult(1, 0x78, 0), nonsense}},
		{"check_ldap -p PORT -b dc=example", "bind: the directory answered 49 (Invalid Credentials)", []string{"", unbound}},
		{"check_ldap -p PORT -b dc=example", "search: the directory answered 32 (No Such Object)", []string{"", bound, ldapResult(2, 0x65, 32)}},
		{"check_ldap -p PORT -b dc=example", "search: no answer within ", []string{"", bound}},
	} {
		t.Run(c.command+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			fails(t, c.command, probetest.Replies(t, c.said[0], c.said[1:]...), c.reason)
		})
	}
}

// ldapResult returns an LDAP response with only a result code (RFC 4511 section 4.1.9).
func ldapResult(id, kind, code byte) string {
	return string([]byte{0x30, 12, 2, 1, id, kind, 7, 0x0a, 1, code, 4, 0, 4, 0})
}

// pgError is an ErrorResponse of PostgreSQL.
func pgError(code, message string) string {
	body := "SERROR\x00VERROR\x00C" + code + "\x00M" + message + "\x00\x00"
	return "E\x00\x00\x00" + string(rune(4+len(body))) + body
}

// The check detects a directory that closes the connection at any step.
func TestDirectoryClosesAtEachStep(t *testing.T) {
	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("shop.example").TLS()
	begun := ldapResult(1, 0x78, 0)
	for _, c := range []struct {
		command, step string
		said          []string // after each message of the check; then the connection closes
		tls           bool
	}{
		{"check_ldap -p PORT -b dc=example", "bind", nil, false},
		{"check_ldap -p PORT -b dc=example", "bind", []string{"\x30\x0c\x02"}, false},
		{"check_ldap -p PORT -b dc=example -D cn=me -P secret", "bind", nil, false},
		{"check_ldap -p PORT -b dc=example", "search", []string{ldapResult(1, 0x61, 0)}, false},
		{"check_ldap -p PORT -b dc=example", "search", []string{ldapResult(1, 0x61, 0), "\x30\x0c\x02"}, false},
		{"check_ldap -p PORT -b dc=example -T", "STARTTLS", nil, false},
		{"check_ldap -p PORT -b dc=example -T", "TLS handshake", []string{begun}, false},
		{"check_ldaps -p PORT -b dc=example", "TLS handshake", nil, false},
		{"check_ldaps -p PORT -b dc=example", "bind", nil, true},
		{"check_ldaps -p PORT -b dc=example", "search", []string{ldapResult(1, 0x61, 0)}, true},
	} {
		talk := func(conn net.Conn) {
			b := make([]byte, 4096)
			for _, answer := range c.said {
				_, _ = conn.Read(b)
				_, _ = io.WriteString(conn, answer)
				if len(answer) < len(begun) {
					return // within a message
				}
			}
			_, _ = conn.Read(b)
		}
		to := probetest.Server(t, talk)
		if c.tls {
			to = overTLS(t, leaf, talk)
		}
		fails(t, c.command, to, c.step+": the server closed the connection", c.step+": the server reset the connection")
	}
}

// Checks over UDP receive refusals in place of the answer to their request.
func TestFailuresOfDatagramsNameTheirStep(t *testing.T) {
	for command, step := range map[string]string{
		"check_udp -p PORT -s ping -e pong": "query", "check_dns -p PORT -H name": "query", "check_dig -p PORT -l name": "query", "check_ntp_time -p PORT": "query",
		"check_ntp -p PORT": "query", "check_snmp -p PORT -o 1.3.6": "query", "check_snmp -p PORT -P 2c -o 1.3.6": "query",
		"check_radius -P PORT -u ann -p secret --secret secret": "login", "check_radius -P PORT --status-server --secret secret": "Status-Server", "check_sip -R HOST:PORT": "OPTIONS",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			fails(t, command, probetest.Closed(t), step+": connection refused")
			fails(t, command, probetest.Datagrams(t, func([]byte) []byte { return nil }), step+": no answer")
			said := failure(t, command, probetest.Datagrams(t, func([]byte) []byte { return []byte(nonsense) }))
			if !strings.HasPrefix(said, step+": ") || strings.HasPrefix(said, step+": no answer") {
				t.Errorf("nonsense: %q", said)
			}
			t.Log(said)
		})
	}
}
