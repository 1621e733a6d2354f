package all_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// pluginFolder is the folder of the Debian packages monitoring-plugins-basic and -standard.
const pluginFolder = "/usr/lib/nagios/plugins"

// The built-in checks and the plugins of the same name agree on servers of all kinds. Every
// listed difference exists, with the reason given in the guide.
func TestChecksAgreeWithThePlugins(t *testing.T) {
	probetest.Program(t, "check_ldap", filepath.Join(pluginFolder, "check_ldap"))
	s := servers(t)
	for _, c := range comparisons {
		for _, args := range strings.Split(strings.TrimSpace(c.args), "\n") {
			args, differs, _ := strings.Cut(strings.TrimSpace(args), "  # ")
			t.Run(c.check+"/"+c.server+"/"+args, func(t *testing.T) {
				t.Parallel()
				compare(t, s, c.check, c.server, args, differs)
			})
		}
	}
}

func compare(t *testing.T, s map[string]probe.Target, check, server, args, differs string) {
	to, known := s[server]
	if !known {
		t.Fatalf("no server %s", server)
	}
	ours, said := healthy(t, to, check+" "+args)
	theirs, output := plugin(t, to, check, args)
	if (ours == theirs) != (differs == "") {
		t.Errorf("healthy here: %t (%v), for the plugin: %t (%s); listed as a difference: %q", ours, said, theirs, output, differs)
	}
}

func healthy(t *testing.T, to probe.Target, command string) (bool, error) {
	k := probe.Known{Checks: all.Checks()}
	p, err := k.Parse(command)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	err = p.Run(ctx, &probe.Machine{}, to, func(string, ...any) {})
	return err == nil, err
}

func plugin(t *testing.T, to probe.Target, check, args string) (bool, string) {
	words, err := probe.Words(strings.NewReplacer("HOST", to.Addr.String(), "PORT", strconv.Itoa(int(to.Port))).Replace(args))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(pluginFolder, check), words...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return err == nil, strings.TrimSpace(string(out))
}

func servers(t *testing.T) map[string]probe.Target {
	says := func(first string, then ...string) probe.Target { return probetest.Replies(t, first, then...) }
	web := func(secure bool) probe.Target {
		s := httptest.NewUnstartedServer(http.HandlerFunc(page))
		s.Config.ErrorLog = nil
		if secure {
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return probetest.At(uint16(s.Listener.Addr().(*net.TCPAddr).Port))
	}
	return map[string]probe.Target{
		"greeting": says("220 mail.example ESMTP ready\r\n"),
		"busy":     says("421 too busy\r\n"),
		"silent":   says(""),
		"closes":   probetest.Server(t, func(net.Conn) {}),
		"closed":   probetest.Closed(t),
		"pong":     says("", "PONG\n"),
		"lines":    says("", "one\r\ntwo\r\n"),
		"news":     says("201 read only\r\n"),
		"echo": probetest.Server(t, func(c net.Conn) {
			b := make([]byte, 1000)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				_, _ = fmt.Fprintf(c, "%q", b[:n])
			}
		}),
		"said goodbye": probetest.Server(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "220 a\r\n")
			_, _ = io.Copy(io.Discard, c)
		}),
		"datagrams": probetest.Datagrams(t, func(asked []byte) []byte { return append([]byte("re: "), asked...) }),
		"void":      probetest.Datagrams(t, func([]byte) []byte { return nil }),
		"web":       web(false),
		"https":     web(true),
	}
}

// page answers depending on the path.
func page(w http.ResponseWriter, r *http.Request) {
	w.Header()["x-lower"] = []string{"Value 1"}
	w.Header().Set("X-Mixed", "two")
	switch {
	case strings.HasPrefix(r.URL.Path, "/status/"):
		code, _ := strconv.Atoi(r.URL.Path[len("/status/"):])
		if code == 301 || code == 302 {
			w.Header().Set("Location", "/")
		}
		w.WriteHeader(code)
	case r.URL.Path == "/old":
		w.Header().Set("Last-Modified", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	case r.URL.Path == "/host":
		_, _ = io.WriteString(w, "host=<"+r.Host+">")
	case r.URL.Path == "/method":
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" <"+string(body)+"> "+r.Header.Get("Content-Type"))
	case r.URL.Path == "/sni" && r.TLS != nil:
		_, _ = io.WriteString(w, "sni=<"+r.TLS.ServerName+">")
	default:
		_, _ = io.WriteString(w, "Hello World\nsecond line\n")
	}
}

// comparisons has one command a line; "  # " begins the reason of a difference.
var comparisons = []struct{ check, server, args string }{
	{"check_tcp", "greeting", `
		-H HOST -p PORT
		HOST -p PORT
		-H HOST -p PORT -e 220
		-H HOST -p PORT -e ESMTP
		-H HOST -p PORT -e esmtp
		-H HOST -p PORT -e 221
		-H HOST -p PORT -e 221 -e ready
		-H HOST -p PORT -e 221 -e ready -A
		-H HOST -p PORT -A -e 220 -e ready
		-H HOST -p PORT -e 221 -M ok
		-H HOST -p PORT -e 221 -M warn
		-H HOST -p PORT -e 221 -M crit
		-H HOST -p PORT -e 220 -j
		-H HOST -p PORT -e ready -m 100
		-H HOST -p PORT -e 220 -r ok
		-H HOST -p PORT --expect=mail --all
		-H HOST -p PORT -w 5 -c 6
		-H HOST -p PORT -t 3 -e ready -d 1
		-H HOST -p PORT -e 221 -m 5  # -m: the plugin does not compare what reaches the bound at once
		-H HOST -p PORT -E -e 'ready\r\n'
		-H HOST -p PORT -x
		-H HOST -p PORT -M maybe
		-H HOST -p 0`},
	{"check_tcp", "silent", `
		-H HOST -p PORT
		-H HOST -p PORT -e x -t 2
		-H HOST -p PORT -e x -M ok -t 2`},
	{"check_tcp", "closes", `
		-H HOST -p PORT
		-H HOST -p PORT -e x
		-H HOST -p PORT -e x -M ok`},
	{"check_tcp", "closed", `
		-H HOST -p PORT
		-H HOST -p PORT -r ok
		-H HOST -p PORT -r warn
		-H HOST -p PORT -r crit
		-H HOST -p PORT -r ok -e x`},
	{"check_tcp", "pong", `
		-H HOST -p PORT -s PING -e PONG
		-H HOST -p PORT -s PING -e ONG
		-H HOST -p PORT -s PING -e PANG`},
	{"check_tcp", "lines", `
		-H HOST -p PORT -s x -e two
		-H HOST -p PORT -s x -e one -e two -A
		-H HOST -p PORT -s x -e one -e three -A`},
	{"check_tcp", "echo", `
		-H HOST -p PORT -s a -e '"a"'
		-H HOST -p PORT -E -s 'a\nb' -e '"a\nb"'
		-H HOST -p PORT -s 'a\nb' -e '"a\\nb"'
		-H HOST -p PORT -s 'a\nb' -E -e '"a\\nb"'
		-H HOST -p PORT -E -s 'a\tb\r\\c' -e '"a\tb\r\\c"'
		-H HOST -p PORT -E -s 'a\x41' -e '"ax41"'`},
	{"check_tcp", "https", `
		-H HOST -p PORT -S
		-H HOST -p PORT -S -D 1
		-H HOST -p PORT -D 1
		-H HOST -p PORT -D 0
		-H HOST -p PORT -D 9999,1
		-H HOST -p PORT --sni www.example
		-H HOST -p PORT --sni=www.example -s 'GET' -e x -t 2`},
	{"check_tcp", "greeting", `-H HOST -p PORT -S -t 3`},
	{"check_ftp", "greeting", `
		-H HOST -p PORT
		-H HOST -p PORT -e ready
		-H HOST -p PORT -e 221`},
	{"check_ftp", "busy", `
		-H HOST -p PORT
		-H HOST -p PORT -e busy
		-H HOST -p PORT -M ok`},
	{"check_nntp", "news", `
		-H HOST -p PORT
		-H HOST -p PORT -e only
		-H HOST -p PORT -e 400  # -e of check_nntp: the plugin adds to 200 and 201`},
	{"check_clamd", "pong", `-H HOST -p PORT`},
	{"check_imap", "greeting", `-H HOST -p PORT`},
	{"check_pop", "greeting", `-H HOST -p PORT`},
	{"check_smtp", "busy", `-H HOST -p PORT -t 2`},
	{"check_udp", "datagrams", `
		-H HOST -p PORT -s ping -e 're: ping'
		-H HOST -p PORT -s ping -e ing
		-H HOST -p PORT -s ping -e pong
		-H HOST -p PORT -s ping -e pong -M ok
		-H HOST -p PORT -s ping -e re -e ing -A
		-H HOST -p PORT -s ping -e re -e ong -A
		-H HOST -p PORT -E -s 'p\tq' -e p
		-H HOST -p PORT  # check_udp without -s and -e: healthy unless the port is refused`},
	{"check_udp", "void", `-H HOST -p PORT -s ping -e x -t 2`},
	{"check_udp", "closed", `-H HOST -p PORT -s ping -e x -t 2`},
	{"check_http", "web", `
		-I HOST -p PORT
		-H HOST -p PORT
		HOST -p PORT
		HOST www.example -p PORT
		-I HOST -p PORT -u /status/404
		-I HOST -p PORT -u /status/500
		-I HOST -p PORT -u /status/302
		-I HOST -p PORT -u /status/302 -f ok
		-I HOST -p PORT -u /status/302 -f warning
		-I HOST -p PORT -u /status/302 -f critical
		-I HOST -p PORT -u /status/302 -f unknown
		-I HOST -p PORT -u /status/302 -f follow -s Hello
		-I HOST -p PORT -u /status/302 -e 302
		-I HOST -p PORT -u /status/404 -e 404
		-I HOST -p PORT -u /status/404 -e 200,404
		-I HOST -p PORT -u /status/404 -e 'Not Found'
		-I HOST -p PORT -e 404
		-I HOST -p PORT -e OK
		-I HOST -p PORT -e 20
		-I HOST -p PORT -e 1.1  # without -H: HTTP/1.1 with a Host field
		-I HOST -p PORT -H www.example -e 'HTTP/1.1 200 OK'
		-I HOST -p PORT -e 200-399  # ranges of -e: only here
		-I HOST -p PORT -s World
		-I HOST -p PORT -s world
		-I HOST -p PORT -r 'W.rld'
		-I HOST -p PORT -R 'w.rld'
		-I HOST -p PORT -r nothing
		-I HOST -p PORT -r nothing --invert-regex
		-I HOST -p PORT -r World --invert-regex
		-I HOST -p PORT -l -r 'World.second'
		-I HOST -p PORT -r '^second'
		-I HOST -p PORT -H www.example -u /host -s 'host=<www.example:PORT>'
		-I HOST -p PORT -H www.example:80 -u /host -s 'host=<www.example>'
		-I HOST -p PORT -H www.example:8080 -u /host -s 'host=<www.example:8080>'
		-I HOST -H www.example:PORT -u /host -s 'host=<www.example:PORT>'
		-I HOST -p PORT -H www.example -k 'Host: other.example' -u /host -s 'host=<other.example>'
		-I HOST -p PORT -H www.example -d 'x-lower: Value'
		-I HOST -p PORT -H www.example -d 'X-Mixed: two'
		-I HOST -p PORT -H www.example -d 'X-Mixed: three'
		-I HOST -p PORT -H www.example -d 'x-mixed: two'  # -d: names of fields in any case
		-I HOST -p PORT -H www.example -u /method -j PUT -s 'PUT <>'
		-I HOST -p PORT -H www.example -u /method -P 'a=b' -s 'POST <a=b> application/x-www-form-urlencoded'
		-I HOST -p PORT -H www.example -u /method -P 'a=b' -T text/plain -j PATCH -s 'PATCH <a=b> text/plain'
		-I HOST -p PORT -u /old -H www.example -M 2h
		-I HOST -p PORT -u /old -H www.example -M 10m
		-I HOST -p PORT -H www.example -M 10m
		-I HOST -p PORT -N
		-I HOST -p PORT -L -n -B -E
		-I HOST -p PORT -m 5
		-I HOST -p PORT -m 100000
		-I HOST -p PORT -m 5:100000
		-I HOST -p PORT -S
		-I HOST -p PORT -w 5 -c 6
		-I HOST -p PORT --sni
		-I HOST -p PORT -u nopath
		-I HOST -p PORT -Z`},
	{"check_http", "https", `
		-I HOST -p PORT -S
		-I HOST -p PORT -S1.2
		-I HOST -p PORT --ssl=1.2+
		-I HOST -p PORT
		-I HOST -p PORT -S --sni -H www.example -u /sni -s 'sni=<www.example>'
		-I HOST -p PORT -S --sni www.example -u /sni -s 'sni=<www.example>'
		-I HOST -p PORT -S -H www.example -u /sni -s 'sni=<www.example>'  # without --sni: the name is sent to TLS all the same
		-I HOST -p PORT -S --sni=www.example -u /sni -s 'sni=<www.example>'  # --sni=NAME: only here
		-I HOST -p PORT -C 1
		-I HOST -p PORT -C 0
		-I HOST -p PORT -S -H www.example -u /host -s 'host=<www.example:PORT>'`},
}
