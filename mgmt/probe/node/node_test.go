package node_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/node"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// other is a Sluice that answers requests for statistics of farms, and the address of its
// API for a command.
type other struct {
	server *httptest.Server
	status int
	body   string
	asked  string
	cut    bool // the answer is incomplete
}

func newOther(t *testing.T) *other {
	o := &other{status: http.StatusOK}
	o.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked = r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery + " " + r.Header.Get("ZAPI_KEY")
		if o.cut {
			w.Header().Set("Content-Length", "100000")
		}
		w.WriteHeader(o.status)
		fmt.Fprint(w, o.body)
	}))
	t.Cleanup(o.server.Close)
	return o
}

func (o *other) api() string { return strings.TrimPrefix(o.server.URL, "https://") }

// farms returns an answer with farms, each "name vport status connections".
func farms(list ...string) string {
	var out []string
	for _, one := range list {
		var name, port, status string
		var n int
		_, _ = fmt.Sscan(one, &name, &port, &status, &n)
		profile := "http"
		if name == "names" {
			profile = "gslb"
		}
		out = append(out, fmt.Sprintf(`{"farmname":%q,"vip":"10.0.0.9","vport":%q,"status":%q,"established":%d,"profile":%q,"more":[1]}`, name, port, status, n, profile))
	}
	return `{"description":"x","farms":[` + strings.Join(out, ",") + `]}`
}

// ask checks the farm at port 80 and returns the reported load: -1 for none.
func (o *other) ask(t *testing.T, args ...string) (got probetest.Asked, load int) {
	t.Helper()
	all := append([]string{"-H", "10.0.0.9", "-p", "PORT", "--api", o.api(), "-k", "s3cret"}, args...)
	k := probe.Known{Checks: map[string]probe.Make{"check_sluice": node.Check}}
	p, err := k.Parse(probetest.Command("check_sluice", all...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, told := probe.Reporting(t.Context())
	ctx, cancel := context.WithTimeout(ctx, probetest.Longest)
	defer cancel()
	var said strings.Builder
	got.Err = p.Run(ctx, &probe.Machine{}, probetest.At(80), func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) })
	got.Said, load = said.String(), -1
	if n, known := told(); known {
		load = int(n)
	}
	return got, load
}

func TestStatusComesFromTheOtherAppliance(t *testing.T) {
	o := newOther(t)
	for _, c := range []struct {
		body   string
		load   int
		reason string
	}{
		{farms("shop 80 up 17"), 17, ""},
		{farms("shop 80 problem 3"), 3, ""},
		{farms("shop 80 maintenance 0"), 0, ""},
		{farms("shop 80 down 17"), -1, "farm shop of the other Sluice is down"},
		{farms("shop 80 critical 17"), -1, "farm shop of the other Sluice is critical"},
		{farms("shop 80 down 17", "again 80 up 5", "else 81 up 4"), 5, ""}, // a stopped farm has the same port
		{farms("a 8000:8010,80 up 17", "b * up 4", "c 70:79,81:90 up 100"), 21, ""},
		{farms("shop 80 down 17", "names 80 up 3"), -1, "farm shop of the other Sluice is down"}, // it forwards no traffic
		{farms("names * up 3"), -1, "has no farm at 10.0.0.9:80"},
		{farms("shop 8080 up 17"), -1, "the other Sluice has no farm at 10.0.0.9:80"},
		{farms("shop 80: up 17", "x x up 1"), -1, "has no farm"},
		{farms(), -1, "has no farm"},
		{`{}`, -1, "is it a Sluice?"},
		{`hello`, -1, "is it a Sluice?"},
	} {
		o.body = c.body
		got, load := o.ask(t)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
		if load != c.load {
			t.Errorf("%s: the load is %d, want %d", c.body, load, c.load)
		}
		if strings.Contains(got.Said, "s3cret") {
			t.Errorf("the key is shown: %s", got.Said)
		}
	}
	if o.asked != "GET /api/v4.0/stats/farms?vip=10.0.0.9 s3cret" {
		t.Errorf("the request was %s, want %s", o.asked, "GET /api/v4.0/stats/farms?vip=10.0.0.9 s3cret")
	}
}

// A TCP farm and a UDP farm may have the same address and port.
func TestFarmIsSelectedByName(t *testing.T) {
	o := newOther(t)
	o.body = farms("web 80 down 17", "media 80 up 3")
	got, load := o.ask(t, "--farm", "web")
	if got.Down(t, "farm web of the other Sluice is down"); load != -1 {
		t.Errorf("the load is %d", load)
	}
	got, load = o.ask(t, "--farm", "media")
	if got.Healthy(t); load != 3 {
		t.Errorf("the load is %d, want 3", load)
	}
	got, _ = o.ask(t, "--farm", "none")
	got.Down(t, "the other Sluice has no farm none at 10.0.0.9:80")
}

func TestQueryErrorsAreExplained(t *testing.T) {
	o := newOther(t)
	o.body = farms("shop 80 up 17")
	for status, reason := range map[int]string{401: "does not know the API key", 403: "may not see", 503: "answered 503, wanted 200"} {
		o.status = status
		got, load := o.ask(t)
		if got.Down(t, reason); load >= 0 {
			t.Errorf("%d: a load of %d", status, load)
		}
	}
	o.status = 200
	sum := sha256.Sum256(o.server.Certificate().Raw)
	for _, right := range []string{fmt.Sprintf("%x", sum), fmt.Sprintf("SHA256:% X", sum)} {
		got, _ := o.ask(t, "--fingerprint", strings.ReplaceAll(right, " ", ":"))
		got.Healthy(t)
	}
	got, _ := o.ask(t, "--fingerprint", strings.Repeat("ab", 32))
	got.Down(t, "its certificate has the fingerprint")
	got, _ = o.ask(t, "--verify")
	got.Down(t, "certificate")
	o.cut = true
	got, _ = o.ask(t)
	got.Down(t, "closed the connection")
	o.cut = false
	o.server.Close()
	got, _ = o.ask(t)
	got.Down(t, "connection refused")
}

func TestKeyIsNotSentToAnUnverifiedServer(t *testing.T) {
	o := newOther(t)
	for _, flags := range [][]string{{"--fingerprint", strings.Repeat("ab", 32)}, {"--verify"}} {
		if o.ask(t, flags...); o.asked != "" {
			t.Errorf("%v: the request was %s, want \"\"", flags, o.asked)
		}
	}
}

func TestCommandsAreRead(t *testing.T) {
	for command, reason := range map[string]string{
		"-H HOST -p PORT":         "an API key of the other Sluice is needed",
		"-k x --api /tmp":         "no place of an API",
		"-k x --api a/b:444":      "no place of an API",
		"-k x --api u@a":          "no place of an API",
		"-k x --api a:0":          "no place of an API",
		"-k x --fingerprint abcd": "64 hexadecimal digits",
		"-k x --fingerprint " + strings.Repeat("g", 64): "64 hexadecimal digits",
	} {
		if got := probetest.Refused(t, "check_sluice", node.Check, strings.Fields(command)...); !strings.Contains(got, reason) {
			t.Errorf("%s: %s", command, got)
		}
	}
	for _, right := range []string{"-k x", "-k x --api HOST", "-k x --api node.example", "-k x --api [2001:db8::1]:4444", "-k x --api 2001:db8::1", "-k x -H 10.0.0.1 -p 80 -D 7 -t 3 -4"} {
		k := probe.Known{Checks: map[string]probe.Make{"check_sluice": node.Check}}
		if _, err := k.Parse("check_sluice " + right); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}
