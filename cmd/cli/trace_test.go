package cli_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
)

const traced = `{"time":"2026-01-02T03:04:05.678901Z","client":"198.51.100.7","method":"GET","host":"a.test","path":"/x\u001b[31m","service":"web",` +
	`"backend":"10.0.0.1:80","status":502,"queue_us":70,"connect_us":120,"response_us":2345,"total_us":1234567,"decision":"cookie","flags":"retried,own-answer","rejection":"bad-answer","reason":"the status line is malformed"}`

// streaming is an appliance that responds to a trace with the given events. It returns its
// data directory.
func streaming(t *testing.T, events string, asked *string) string {
	t.Helper()
	data := dataDirectory(t)
	ln, err := net.Listen("unix", filepath.Join(data, client.Socket))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.RequestURI()
		if strings.Contains(r.URL.Path, "/none/") {
			w.WriteHeader(404)
			io.WriteString(w, `{"message":"the farm \"none\" does not exist"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": watching\n\n"+events)
	})}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	return data
}

func trace(data string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Execute(append([]string{"--data", data, "trace"}, args...), strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestTraceShowsExchangesAsATable(t *testing.T) {
	var asked string
	data := streaming(t, "data: "+traced+"\n\nevent: missed\ndata: 7\n\n: alive\n\ndata: {\"time\":\"2026-01-02T03:04:05Z\"}\n\n", &asked)
	code, out, err := trace(data, "shop", "--filter", "status=5xx", "--filter", "path=/x y", "--count", "2")
	if code != 0 || asked != "/api/v4.0/farms/shop/trace?path=%2Fx+y&status=5xx" {
		t.Errorf("exit status %d, request for %s: %s", code, asked, err)
	}
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if len(rows) != 3 {
		t.Fatalf("%d rows:\n%s", len(rows), out)
	}
	for _, want := range []string{"198.51.100.7", "GET", "502", "70µs", "120µs", "2.345ms", "1.235s", "web", "10.0.0.1:80", "cookie", "bad-answer,retried,own-answer", "a.test/x·[31m  the status line is malformed"} {
		if !strings.Contains(rows[1], want) {
			t.Errorf("%q is missing in %q", want, rows[1])
		}
	}
	column := func(row, text string) int { return utf8.RuneCountInString(row[:strings.Index(row, text)]) }
	if column(rows[0], "BACKEND") != column(rows[1], "10.0.0.1:80") {
		t.Errorf("columns do not align:\n%s", out)
	}
	if !strings.Contains(err, "7 exchanges are not shown") {
		t.Errorf("output %q", err)
	}
}

func TestTraceShowsConnectionsWithTheirBytes(t *testing.T) {
	var asked string
	data := streaming(t, `data: {"time":"2026-01-02T03:04:05Z","client":"192.0.2.7","protocol":"UDP","backend":"10.0.0.1:53","bytes_in":40,"bytes_out":2048,"decision":"session"}`+"\n\n", &asked)
	code, out, err := trace(data, "dns", "--count", "1")
	if code != 0 || !strings.Contains(out, "192.0.2.7        UDP") || !strings.HasSuffix(out, "40 B in, 2.0 KiB out\n") || !strings.Contains(out, "session") {
		t.Errorf("exit status %d: %s\n%s", code, err, out)
	}
}

func TestTraceAsJSONIsALineForEachExchange(t *testing.T) {
	var asked string
	data := streaming(t, strings.Repeat("data: "+traced+"\n\n", 5), &asked)
	code, out, _ := trace(data, "shop", "--json", "--count", "3")
	if code != 0 || out != strings.Repeat(traced+"\n", 3) {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}

func TestTraceSaysWhyItEnds(t *testing.T) {
	var asked string
	data := streaming(t, "data: "+traced+"\n\n", &asked)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"shop"}, 1, "the appliance ended the trace"},
		{[]string{"none"}, 1, "does not exist"},
		{[]string{"shop", "--filter", "colour=red"}, 2, "allowed is NAME=VALUE with the names backend, client"},
		{[]string{"shop", "--filter", "status=9xx"}, 2, "9xx"},
		{[]string{"shop", "--filter", "status=500", "--filter", "status=404"}, 2, "status is given twice"},
		{nil, 2, "FARM"},
	} {
		code, _, err := trace(data, c.args...)
		if code != c.code || !strings.Contains(err, c.want) {
			t.Errorf("%v: exit status %d, %q", c.args, code, err)
		}
	}
	for events, want := range map[string]string{
		"data: {\n\n": "invalid exchange",
		"data: " + strings.Repeat("x", 1<<20) + "\n\n": "read the response: ",
	} {
		if code, _, err := trace(streaming(t, events, &asked), "shop"); code != 1 || !strings.Contains(err, want) {
			t.Errorf("%.20q: exit status %d, %q", events, code, err)
		}
	}
	for n := range 2 {
		var wrong bytes.Buffer
		if code := cli.Execute([]string{"--data", data, "trace", "shop"}, nil, &full{left: n}, &wrong); code != 1 || !strings.Contains(wrong.String(), "no space left") {
			t.Errorf("an output full after %d lines: %d %s", n, code, &wrong)
		}
	}
	if code := cli.Execute([]string{"--data", streaming(t, "event: missed\ndata: 7\n\n", &asked), "trace", "shop"}, nil, &full{}, &full{}); code != 1 {
		t.Errorf("full output: status %d", code)
	}
	if code, _, err := trace(t.TempDir(), "shop"); code != 1 || !strings.Contains(err, "no running sluice") {
		t.Errorf("without an appliance: %d, %q", code, err)
	}
}
