package cli_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
)

// canned is an appliance with fixed responses by path. It returns its data directory.
func canned(t *testing.T, answers map[string]string) string {
	t.Helper()
	return cannedFor(t, answers, func(*http.Request) {})
}

// cannedFor is canned that passes each request to asked.
func cannedFor(t *testing.T, answers map[string]string, asked func(*http.Request)) string {
	t.Helper()
	data := dataDirectory(t)
	ln, err := net.Listen("unix", filepath.Join(data, client.Socket))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		text, ok := answers[strings.TrimPrefix(r.URL.Path, "/api/v4.0")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, text)
	})}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	return data
}

// Text output of responses that test appliances do not produce.
func TestRareAnswersForPeople(t *testing.T) {
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local().Format(time.DateTime)
	farm := `"params":{"farmname":"shop","profile":"http"},`
	backends := func(list string) string { return `{"params":[` + list + `]}` }
	for _, c := range []struct{ command, path, answer, want string }{
		{"status", "/status", `{"params":{"version":"1.2","revision":3,"engine":{"connected":false}}}`,
			"Sluice 1.2, revision 3, the engine is not running\n\nNo farm yet: create one with `sluice farm create NAME vip=ADDRESS vport=PORT`.\n"},
		{"status", "/status", `{"params":{"version":"1.2","revision":3,"settled":"false","engine":{"connected":true,"acknowledged":4,"loops":2}}}`,
			"Sluice 1.2, revision 3, the engine still runs generation 4\n\nNo farm yet: create one with `sluice farm create NAME vip=ADDRESS vport=PORT`.\n"},
		{"status", "/status", `{"params":{"version":"1.2","revision":3,"settled":"true","engine":{"connected":true,"acknowledged":4,"loops":2},"farms":[{"farmname":"a","status":"down","vip":"::1","vport":"80"},{"farmname":"b","status":"down","problem":"why"},{"farmname":"c","status":"up"}]}}`,
			"Sluice 1.2, revision 3, the engine runs it as generation 4 on 2 event loops\n\n" +
				"FARM  STATUS  VIP  VPORT  PROBLEM\na     down    ::1  80     stopped\nb     down    -    -      why\nc     up      -    -      -\n"},
		{"graph shop", "/stats/farms/shop/series", `{"params":{"start":"2026-11-23T12:00:00Z","step":5,"series":[{"name":"requests","unit":"/s","values":[null,2,4,8]},{"name":"bytes_in","unit":"B/s","values":[null,null,2048,1024]},{"name":"p99","unit":"s","values":[null,null,null,null]}]}}`,
			"NUMBER    UNIT    LEAST     MEAN  LARGEST     LAST  OVER TIME\nrequests  /s       2.00     4.67     8.00     8.00   ▃▅█\nbytes_in  B/s   1.0 KiB  1.5 KiB  2.0 KiB  1.0 KiB    █▅\np99       s           -        -        -        -\n"},
		{"backend list shop web", "/farms/shop/services/web/backends", backends(
			`{"id":0,"ip":"10.0.0.1"},
			{"id":1,"ip":"a.test","resolution":{"resolve":"all"}},
			{"id":2,"ip":"b.test","port":80,"resolution":{"resolve":"first","addresses":["10.0.0.2","10.0.0.3"],"age":61}},
			{"id":3,"ip":"c.test","max_conns":0,"connection_limit":7,"resolution":{"resolve":"all","addresses":["10.0.0.2"],"age":1}},
			{"id":4,"ip":"d.test","max_conns":1,"connection_limit":7,"resolution":{"resolve":"all","addresses":["10.0.0.2","10.0.0.3"]}},
			{"id":5,"ip":"10.0.0.3","resolution":{"of":4,"name":"d.test"}}`), `
SERVICE  ID  STATUS  IP                           PORT  WEIGHT  PRIORITY  LIMIT  ALIAS
web       0  -       10.0.0.1                        -  -       -             -  -
web       1  -       a.test (no address)             -  -       -             -  -
web       2  -       b.test (10.0.0.2, 1m1s ago)    80  -       -             -  -
web       3  -       c.test (1 address, 1s ago)      -  -       -             7  -
web       4  -       d.test (2 addresses)            -  -       -             1  -
web       5  -       10.0.0.3 (d.test)               -  -       -             -  -
`},
		{"backend show shop web 4", "/farms/shop/services/web/backends", backends(
			`{"id":4,"ip":"d.test","port":80,"timeout":9,"server_names":["a","b"],"problem":"why","resolution":{"resolve":"all","name":"d.test","addresses":["10.0.0.2","10.0.0.3"],"age":2,"ttl":60,"of":3,"problem":"no answer"}}`), `
SETTING                   VALUE
id                        4
status                    -
configured                -
maintenance               -
actual                    -
ip                        d.test
port                      80
weight                    -
priority                  -
max_conns                 -
source                    -
mark                      -
alias                     -
server_names              a, b
resolve                   all
name                      d.test
addresses                 10.0.0.2, 10.0.0.3, resolved 2s ago
ttl                       1m0s
from the name of backend  3
name not resolved         no answer
problem                   why
`},
		{"backend show shop web 0", "/farms/shop/services/web/backends", backends(`{"id":0,"ip":"d.test","timeout":9,"connection_limit":3,"resolution":{"resolve":"first","name":"d.test"}}`), `
SETTING           VALUE
id                0
status            -
configured        -
maintenance       -
actual            -
ip                d.test
port              -
weight            -
priority          -
connection_limit  3
timeout           9
contimeout        -
source            -
mark              -
alias             -
resolve           first
name              d.test
addresses         none
`},
		{"farm show shop", "/farms/shop", `{` + farm + `"services":[{"id":"old","redirect":"https://a.test"},{"id":"web","backends":[{"id":0,"ip":"10.0.0.1"}]}]}`, `
SETTING   VALUE
farmname  shop
profile   http

SERVICE  ID  STATUS  IP              PORT  WEIGHT  PRIORITY  LIMIT  ALIAS
old       -  -       https://a.test
web       0  -       10.0.0.1        -     -       -         -      -
`},
		{"stats shop", "/stats/farms/shop/backends", `{"farm":{"profile":"http"},"backends":[
			{"service":"web","id":0,"status":"down","ip":"10.0.0.1","port":80,"problem":"ejected: too many errors","counters":{"requests":2,"responses":{"2xx":1,"3xx":2,"4xx":3,"5xx":4},"response_time":0.0123456}},
			{"service":"web","id":1,"status":"down","ip":"10.0.0.2","problem":"was ejected","established":1,"pending":2}]}`, `
SERVICE  ID  STATUS   IP        PORT  ESTABLISHED  PENDING  REQUESTS  REQ/S  2XX  3XX  4XX  5XX  RESPONSE
web       0  ejected  10.0.0.1    80            0        0         2      -    1    2    3    4   12.35ms
web       1  down     10.0.0.2     -            1        2         0      -    0    0    0    0         -
`},
		{"stats", "/stats/farms", `{"farms":[{"farmname":"a","profile":"http","queued":5,"counters":{"bytes_in":1023,"bytes_out":1024}},{"farmname":"b","profile":"https","counters":{"bytes_in":1152921504606846975,"bytes_out":18446744073709551615}}]}`, `
FARM  STATUS  ESTABLISHED  PENDING  QUEUED  REQUESTS  REQ/S  2XX  3XX  4XX  5XX          IN          OUT
a     -                 0        0       5         0      -    0    0    0    0      1023 B      1.0 KiB
b     -                 0        0       0         0      -    0    0    0    0  1024.0 PiB  16384.0 PiB
`},
		{"acme list", "/certificates/letsencryptz", `{"params":[
			{"file":"a.pem","domains":["a.test","b.test"],"status":"valid","days_left":0,"challenge":"http-01","test":"false","due":"2026-01-02T03:04:05Z","autorenewal":{"status":"true","farm":"shop"}},
			{"file":"c.pem","domains":["c.test"],"status":"expired","test":"true","due":"2026-01-02T03:04:05Z","failure":"why","autorenewal":{"status":"false","vip":"192.0.2.1"}}]}`, `
FILE   DOMAINS         STATUS   DAYS  RENEWED FROM         CHALLENGE  AT         TEST   FAILURE
a.pem  a.test, b.test  valid       0  ` + due + `  http-01    shop       false  -
c.pem  c.test          expired     -  never                -          192.0.2.1  true   why
`},
		{"certificate list", "/certificates", `{"params":[{"file":"a.pem","cn":"a.test","issuer":"R","key_type":"RSA","status":"valid","days_left":7,"used_by":["farm a","farm b"]},{"file":"b.csr","status":"CSR"}]}`, `
FILE   CN      ISSUER  KEY  STATUS  DAYS  USED BY
a.pem  a.test  R       RSA  valid      7  farm a, farm b
b.csr  -       -       -    CSR        -  -
`},
		{"certificate ca list", "/certificates/ca", `{"params":[{"name":"c","status":"invalid","problem":"why","certificates":[{},{}],"crls":[{}],"used_by":["farm a","farm b"]}]}`, `
NAME  CERTIFICATES  CRLS  STATUS   PROBLEM  USED BY
c                2     1  invalid  why      farm a, farm b
`},
		{"conn list", "/connections", `{"params":[{"farm":"a","id":1,"protocol":"icmp","state":"-","client":"::1","vip":"::2","backend_ip":"::3","backend_port":7,"bytes_in":1536}],"total_connections":2}`, `
FARM  BACKEND  PROTOCOL  STATE  CLIENT  VIP  SERVER   TIMEOUT       IN  OUT
a           1  icmp      -      ::1     ::2  [::3]:7        0  1.5 KiB  0 B
1 of 2 connections
`},
		{"system config", "/system/global", `{"params":{"api_names":["a.test","b.test"],"resolve_min_ttl":0.5,"resolve_max_ttl":3600,"resolve_gone_time":7200,"session_timeout":30,"log_level":"warn","le_renewal_timeout":120,"cors_devel_mode":"false"}}`, `
SETTING             VALUE
api_names           a.test, b.test
resolve_min_ttl     0.5
resolve_max_ttl     3600
resolve_gone_time   7200
session_timeout     30
log_level           warn
le_renewal_timeout  120
cors_devel_mode     false
`},
		{"farm explain dns", "/farms/dns/explain", `{"params":{"farmname":"dns","profile":"l4xnat","datapath":"auto","carrier":"kernel","reason":"it can","rules":" table x {\n}\n","warnings":["w"],"possible":[{"datapath":"kernel","possible":"true"},{"datapath":"userspace","possible":"false","reason":"nat"}]}}`, `
farm dns (l4xnat) runs in the kernel: it can
configured: auto
kernel: possible
userspace: not possible: nat
warning: w

table x {
}
`},
		{"explain dns", "/farms/dns/explain", `{"params":{"farm":"dns","listener":"192.0.2.1:53","generation":4,"from":"192.0.2.7","balance":{"algorithm":"weight","priority_level":1,"protocol":"udp"},"result":{"outcome":"wait","reason":"full"}}}`, `
connection
from 192.0.2.7 to farm dns at 192.0.2.1:53 over UDP, generation 4

Backends (weight, priorities up to 1)

Result
  ·  queued: full
`},
		{"version --json", "/system/version", `{"params":{"sluice_version":"7.7"}}`, "{\n  \"running\": \"7.7\",\n  \"version\": \"" + client.Version + "\"\n}\n"},
		{"version --json", "/other", ``, "{\n  \"running\": null,\n  \"version\": \"" + client.Version + "\"\n}\n"},
		{"version", "/system/version", `{"params":{"sluice_version":"` + client.Version + `"}}`, "sluice " + client.Version + "\n"},
		{"version", "/system/version", `{"params":{"sluice_version":"7.7"}}`, "sluice " + client.Version + "\nrunning: 7.7\n"},
		{"version", "/other", ``, "sluice " + client.Version + "\n"},
	} {
		r := execute("", append([]string{"--data", canned(t, map[string]string{c.path: c.answer})}, strings.Fields(c.command)...)...)
		want := strings.TrimPrefix(c.want, "\n")
		if r.code != 0 || r.stdout != want {
			t.Errorf("%s: exit %d %s\n%s\nwant:\n%s", c.command, r.code, r.stderr, r.stdout, want)
		}
	}
}

// serving returns the number of a process whose parent has that file as its standard error.
func serving(t *testing.T, stderr *os.File) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec 3<&0; cat <&3 >/dev/null & echo $!; wait")
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	var line [32]byte
	n, err := out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// descriptor returns the file of a descriptor, closed with the test.
func descriptor(t *testing.T, fd int) *os.File {
	f := os.NewFile(uintptr(fd), "")
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTheLogOfTheApplianceIsFoundWhereItGoes(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "sluice.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	io.WriteString(file, "one\ntwo\nthree\n")
	sockets, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := descriptor(t, sockets[0])
	descriptor(t, sockets[1])
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := os.WriteFile(filepath.Join(dir, "journalctl"), []byte("#!/bin/sh\necho journal \"$@\"\n[ \"$5\" != 13 ]\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	inFile, inJournal, nowhere := serving(t, file), serving(t, socket), serving(t, null)
	role := func(pid int) string { return `{"name":"engine","pid":` + strconv.Itoa(pid) + `}` }
	for _, c := range []struct {
		roles, more string
		code        int
		out, wrong  string
	}{
		{role(0) + "," + role(1<<30) + "," + role(inFile), "", 0, "one\ntwo\nthree\n", ""},
		{role(inFile), "--lines 2", 0, "two\nthree\n", ""},
		{role(inFile), "-n 0", 0, "", ""},
		{role(inFile), "-n -1", 2, "", "--lines must be 0 or more"},
		{role(inFile), "--url https://a.test", 2, "", "`sluice trace`"},
		{role(inJournal) + "," + role(inFile), "", 0, "journal --no-pager -u sluice -n 20\n", ""},
		{role(inJournal), "-n 5 -f", 0, "journal --no-pager -u sluice -n 5 -f\n", ""},
		{role(inJournal), "-n 13", 1, "journal --no-pager -u sluice -n 13\n", "journalctl: exit status 1"},
		{role(nowhere), "", 1, "", "that started it (/dev/null)"},
		{"", "", 1, "", "no process of the appliance runs"},
		{role(0), "", 1, "", "no process of the appliance runs"},
	} {
		data := canned(t, map[string]string{"/status": `{"params":{"roles":[` + c.roles + `]}}`})
		r := execute("", append([]string{"--data", data, "logs"}, strings.Fields(c.more)...)...)
		if r.code != c.code || r.stdout != c.out || !strings.Contains(r.stderr, c.wrong) || c.wrong == "" && r.stderr != "" {
			t.Errorf("logs %s of %s: %+v", c.more, c.roles, r)
		}
	}
}

func TestTheAccessLogOfAFarmIsFoundWhereItGoes(t *testing.T) {
	data := canned(t, map[string]string{
		"/farms/none":   `{"params":{"logs":"false"}}`,
		"/farms/far":    `{"params":{"logs":"true","log_sink":"syslog","log_target":"192.0.2.9:514"}}`,
		"/farms/out":    `{"params":{"logs":"true","log_sink":"stdout"}}`,
		"/farms/own":    `{"params":{"logs":"true","log_sink":"file"}}`,
		"/farms/named":  `{"params":{"logs":"true","log_sink":"file","log_file":"other"}}`,
		"/farms/silent": `{"params":{"logs":"true","log_sink":"file"}}`,
		"/farms/folder": `{"params":{"logs":"true","log_sink":"file"}}`,
		"/farms/broken": `{"params":7}`,
	})
	if err := os.MkdirAll(filepath.Join(data, "log", "folder.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"own": "a\nb\n", "other": "c\n"} {
		if err := os.WriteFile(filepath.Join(data, "log", name+".log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args       string
		code       int
		out, wrong string
	}{
		{"own", 0, "a\nb\n", ""}, {"own -n 1", 0, "b\n", ""}, {"named", 0, "c\n", ""}, {"silent", 0, "", ""},
		{"none", 1, "", "`sluice farm set none logs=true`"}, {"far", 1, "", "goes to the syslog server 192.0.2.9:514"}, {"out", 1, "", "standard output"},
		{"broken", 1, "", "invalid response of the appliance"}, {"missing", 1, "", "status 404"}, {"folder", 1, "", "/log/folder.log: "},
	} {
		var out, wrong bytes.Buffer
		code := cli.Execute(append([]string{"--data", data, "logs"}, strings.Fields(c.args)...), nil, &out, &wrong)
		if code != c.code || out.String() != c.out || !strings.Contains(wrong.String(), c.wrong) {
			t.Errorf("logs %s: %d %q %q", c.args, code, &out, &wrong)
		}
	}
}
