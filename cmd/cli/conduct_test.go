package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
)

// call is an API call for comparison.
type call struct{ method, address, body string }

// curled parses a curl command line like sh and returns its call.
func curled(t *testing.T, line string) (c call) {
	t.Helper()
	_, curl, several := strings.Cut(line, " | ")
	if !several {
		curl = line
	}
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+curl).Output()
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if words[0] != "curl" {
		t.Fatalf("%q is no call of curl", line)
	}
	c.method, c.address = "GET", strings.TrimPrefix(words[len(words)-1], "http://localhost/api/v4.0")
	for i := 1; i < len(words)-1; i += 2 {
		switch words[i] {
		case "-X":
			c.method = words[i+1]
		case "--data":
			c.body = words[i+1]
		case "--data-binary":
			if name := words[i+1]; name != "@-" {
				text, err := os.ReadFile(name[1:])
				if err != nil {
					t.Fatal(err)
				}
				c.body = string(text)
			} else {
				c.body = "(standard input)"
			}
		case "-H", "--unix-socket", "--cacert":
		default:
			t.Fatalf("%q has %q", line, words[i])
		}
	}
	return c
}

// --show-api prints the call that the command makes without it, and sends nothing else.
func TestShownCallsAreThoseACommandMakes(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var sent []call
	r.sees = bodySeer(&sent)
	writes := 0
	for _, command := range everyCommand(newPapers(t, "shop.example")) {
		if isOneOf(command, []string{"audit export", "export"}) {
			continue // they make at most one request, which the others cover
		}
		sent = nil
		said, _ := r.run(-1, nil, command+" --show-api")
		if said.code != 0 || said.stderr != "" {
			t.Errorf("%s: %+v", command, said)
			continue
		}
		if slices.ContainsFunc(sent, call.changes) {
			t.Errorf("%s --show-api sent %q", command, sent)
		}
		var shown []call
		for line := range strings.Lines(said.stdout) {
			shown = append(shown, curled(t, strings.TrimSuffix(line, "\n")))
		}
		sent = nil
		if said, _ := r.run(-1, nil, command); said.code != 0 {
			t.Fatalf("%s: %+v", command, said)
		}
		want := slices.DeleteFunc(slices.Clone(sent), func(c call) bool { return !c.changes() })
		writes += len(want)
		if len(want) == 0 {
			want = sent[len(sent)-1:]
		}
		if !slices.EqualFunc(shown, want, call.same) {
			t.Errorf("%s shows %q, and sends %q", command, shown, want)
		}
	}
	if writes < 60 {
		t.Errorf("only %d calls were compared", writes)
	}
}

func (c call) changes() bool {
	return c.method != "GET" && !strings.HasSuffix(c.address, "/explain") && !strings.Contains(c.address, "dry_run=true")
}

// same compares a shown call with a sent one, except secrets and concatenated files.
func (c call) same(sent call) bool {
	if c.body == "(standard input)" || strings.Contains(c.body, `"<`) {
		c.body = sent.body
	}
	return c == sent
}

func TestShownCallsHoldNoSecret(t *testing.T) {
	a := ready(t)
	t.Setenv("SLUICE_KEY", a.key)
	for _, c := range []struct{ stdin, command, want string }{
		{"s3cret-1\n", "user create eve", `"password":"<password>"`},
		{"", "user set eve zapikey=s3cret-1", `"zapikey":"<zapikey>"`},
		{"", "service set shop web auth_users=joe:s3cret-1", `"auth_users":"<auth_users>"`},
		{"", "system snmp community=s3cret-1", `"community":"<community>"`},
		{"", "system proxy http_proxy=http://joe:s3cret-1@proxy.example:3128", `http://<user>:<password>@proxy.example:3128`},
		{"", "farm list --url " + a.address + " --insecure", `-k -H "ZAPI_KEY: $SLUICE_KEY" ` + a.address + "/api/v4.0/farms\n"},
		{"", "farm list --url " + a.address + " --cacert " + a.cacert, "--cacert " + a.cacert + ` -H "ZAPI_KEY: $SLUICE_KEY"`},
		{"", "farm delete shop --confirm 5m --key s3cret-1", `-H "ZAPI_KEY: $SLUICE_KEY" 'http://localhost/api/v4.0/farms/shop?confirm=5m'`},
	} {
		args := append(strings.Fields(c.command), "--show-api")
		if !strings.Contains(c.command, "--url") {
			args = append(args, "--data", a.data)
		}
		r := execute(c.stdin, args...)
		if r.code != 0 || !strings.Contains(r.stdout, c.want) || strings.Contains(r.stdout+r.stderr, "s3cret") || strings.Contains(r.stdout, a.key) {
			t.Errorf("%s: %+v, want %q", c.command, r, c.want)
		}
	}
}

// The output of --show-yaml is in the document after the change, but not before.
func TestShownYAMLIsThatOfTheDocumentAfterTheChange(t *testing.T) {
	a := ready(t)
	for _, c := range []struct{ command, want string }{
		{"farm create new vip=192.0.2.10 vport=99", "farms:\n  - name: new\n    profile: http\n    vip: 192.0.2.10\n    vport: 99\n"},
		{"service create shop api urlp=^/api/", "farms:\n  - name: shop\n    services:\n      - name: api\n        urlp: \"^/api/\"\n"},
		{"backend create shop api 10.0.0.9:80", "farms:\n  - name: shop\n    services:\n      - name: api\n        urlp: \"^/api/\"\n        backends:\n          - ip: 10.0.0.9\n            port: 80\n"},
		{"backend set shop web 1 weight=7", "farms:\n  - name: shop\n    services:\n      - name: web\n        backends:\n          - ip: 10.0.0.2\n            port: 8080\n            weight: 7\n            alias: second\n"},
		{"backend set shop web 1 weight=null", "farms:\n  - name: shop\n    services:\n      - name: web\n        backends:\n          - ip: 10.0.0.2\n            port: 8080\n            alias: second\n"},
		{"check copy check_tcp alive", "checks:\n  - name: alive\n    description: \"A TCP connection to the port is made.\"\n    command: \"check_tcp -p PORT -H HOST\"\n    interval: 15\n"},
		{"alias set 10.0.0.1 db-1", ""},
		{"farm set shop contimeout=20", ""}, // the default: no change
	} {
		before := a.must("export")
		args := strings.Fields(c.command)
		shown := a.must(append(args, "--show-yaml")...)
		if a.must("export") != before {
			t.Fatalf("%s --show-yaml changed something", c.command)
		}
		a.must(args...)
		after := a.must("export")
		if c.want != "" && shown != c.want {
			t.Errorf("%s shows\n%s\nwant:\n%s", c.command, shown, c.want)
		}
		for line := range strings.Lines(shown) {
			if !strings.HasPrefix(line, "#") && !strings.Contains(after, line) {
				t.Errorf("%s shows %q, which is not in\n%s", c.command, line, after)
			}
		}
	}
	if shown := a.must("farm", "delete", "new", "--show-yaml"); shown != "# It would be removed from the document.\n" {
		t.Errorf("of a farm that is deleted: %q", shown)
	}
	if r := a.run("farm", "set", "none", "vport=81", "--show-yaml"); r.code != 1 || !strings.Contains(r.stderr, "the farm none does not exist") {
		t.Errorf("of a farm that is not there: %+v", r)
	}
	if r := a.run("farm", "delete", "new", "--show-yaml", "--show-api"); r.code != 2 {
		t.Errorf("both: %+v", r)
	}
}

// Quiet commands print errors and the name of the created object.
func TestQuietCommandsSayOnlyWhatTheyMade(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	for _, command := range everyCommand(newPapers(t, "shop.example")) {
		said, _ := r.run(-1, nil, command+" --quiet")
		makes := slices.ContainsFunc(strings.Fields(command), func(word string) bool {
			return slices.Contains([]string{"create", "copy", "add", "upload", "csr"}, word)
		})
		if said.code != 0 || said.stderr != "" || said.stdout != "" && !makes {
			t.Errorf("%s: %+v", command, said)
		}
	}
	a = ready(t)
	for _, c := range []struct{ command, out string }{
		{"farm create new vip=192.0.2.10 vport=99 -q", "new\n"}, {"service create new web --quiet", "web\n"}, {"backend create new web 10.0.0.1:80 -q", "0\n"},
		{"check create alive -q", "alive\n"}, {"check copy check_tcp other -q", "other\n"}, {"backend create new web 10.0.0.2:80 -q", "1\n"}, {"farm stop new -q", ""}, {"group create ops -q", "ops\n"}, {"group add-farm ops new -q", ""},
	} {
		if out := a.must(strings.Fields(c.command)...); out != c.out {
			t.Errorf("%s: %q", c.command, out)
		}
	}
	if key := strings.TrimSpace(a.must("key", "create", "-q")); execute("", "farm", "list", "--url", a.address, "--insecure", "--key", key).code != 0 {
		t.Errorf("%q is no key", key)
	}
	if r := a.run("farm", "create", "new", "vip=192.0.2.10", "vport=98", "-q"); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "sluice: ") {
		t.Errorf("a refused change: %+v", r)
	}
}

// Every read-only command can be watched, except those that run continuously or write files.
func TestReadOnlyCommandsCanBeWatched(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	var sent []call
	r.sees = bodySeer(&sent)
	root := cli.Root()
	for _, command := range everyCommand(newPapers(t, "shop.example")) {
		sent = nil
		r.run(-1, nil, command)
		cmd, _, err := root.Find(strings.Fields(command))
		if err != nil {
			t.Fatal(err)
		}
		changes := slices.ContainsFunc(sent, call.changes)
		if !changes && cmd.Flags().Lookup("watch") == nil && !isOneOf(command, []string{"certificate download", "certificate ca download", "certificate activation download", "audit export", "export"}) {
			t.Errorf("%s cannot be watched", command)
		}
		if changes && cmd.Flags().Lookup("watch") != nil {
			if said, _ := r.run(-1, nil, command+" --watch=1h"); said.code != 2 || !strings.Contains(said.stderr, "--watch: this command changes something") {
				t.Errorf("%s --watch: %+v", command, said)
			}
		}
	}
}

// watching runs a command until its output satisfies until.
func (a *appliance) watching(t *testing.T, command string, until func(string) bool) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out := &watchedOutput{until: until, end: cancel}
	root := cli.Root()
	root.SetArgs(append(strings.Fields(command), "--data", a.data))
	root.SetOut(out)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

type watchedOutput struct {
	bytes.Buffer
	until func(string) bool
	end   func()
}

func (o *watchedOutput) Write(b []byte) (int, error) {
	n, err := o.Buffer.Write(b)
	if o.until(o.String()) {
		o.end()
	}
	return n, err
}

func TestEachLookOfAWatchIsAppendedWhereThereIsNoTerminal(t *testing.T) {
	a := ready(t)
	for command, c := range map[string]struct {
		mark, between string
	}{
		"farm list --watch=100ms":        {"FARM  STATUS", "\n\nFARM  STATUS"},
		"backend list shop --watch=.1s":  {"SERVICE  ID", "\n\nSERVICE  ID"},
		"farm list --watch=100ms --json": {`"description"`, "}\n{"},
		"farm lint --watch=100ms":        {"", "\n\n"},
		"system dns --watch=100ms":       {"SETTING", "\n\nSETTING"},
	} {
		said, err := a.watching(t, command, func(said string) bool {
			return strings.Count(said, c.mark) >= 2 && strings.Contains(said, c.between)
		})
		if err != nil || !strings.Contains(said, c.between) || strings.Contains(said, "\x1b") {
			t.Errorf("%s: %v\n%s", command, err, said)
		}
	}
	if _, err := a.watching(t, "farm show none --watch", func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a farm that is not there: %v", err)
	}
}

// Each refresh replaces the previous output and is cut to the rows of the terminal.
func TestAWatchRedrawsATerminalInPlace(t *testing.T) {
	a := ready(t)
	for n := range 30 {
		a.must("service", "create", "shop", "s"+string(rune('a'+n%26))+string(rune('a'+n/26)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := onTerminal(t, 100, func(tty *os.File) {
		root := cli.Root()
		root.SetArgs([]string{"--data", a.data, "service", "list", "shop", "--watch=100ms"})
		root.SetOut(tty)
		if err := root.ExecuteContext(ctx); err != nil {
			t.Error(err)
		}
	}, func(so string) {
		if strings.Count(so, "SERVICE") >= 2 { // a read may return several at once
			cancel()
		}
	})
	first, rest, found := strings.Cut(strings.TrimPrefix(out, "\x1b[H\x1b[2J"), "\x1b[H")
	if !found || !strings.HasPrefix(rest, "SERVICE") || strings.Contains(rest, "\x1b[2J") {
		t.Fatalf("%q", out)
	}
	// 24 rows: a heading, 22 services, and the number of hidden lines.
	if lines := strings.Split(first, "\n"); len(lines) != 24 || !strings.HasPrefix(lines[23], "(9 lines more)") || !strings.HasSuffix(first, "\x1b[J") {
		t.Errorf("%d lines: %q", len(lines), lines[len(lines)-1])
	}
}

func bodySeer(sent *[]call) func(*http.Request) {
	return func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		*sent = append(*sent, call{r.Method, strings.TrimPrefix(r.URL.RequestURI(), "/api/v4.0"), string(body)})
	}
}
